//! Tests of the errors that only a mounted directory can have: it leads elsewhere or keeps
//! descriptors.

use explode_components::mounted::MountedFiles;
use explode_ramdisk::files::{FileKind, Files, OpenFlags};
use nix::errno::Errno;

use crate::directory;

#[test]
fn links_are_not_followed_and_sockets_are_errors() {
    let directory = directory();
    std::fs::write(directory.path().join("outside"), "secret").unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::os::unix::fs::symlink("../outside", root.join("link")).unwrap();
    std::os::unix::fs::symlink("..", root.join("up")).unwrap();
    let files = MountedFiles::new(&root).unwrap();
    assert_eq!(files.open("/link", OpenFlags::EXISTING), Err(Errno::ELOOP));
    assert_eq!(files.stat("/link").unwrap().kind, FileKind::Symlink);
    let links = ["link", "up"].map(|name| (name.to_owned(), FileKind::Symlink));
    assert_eq!(files.readdir("/").unwrap(), links);
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    assert_eq!(files.stat("/socket"), Err(Errno::EUCLEAN));
    assert_eq!(files.readdir("/"), Err(Errno::EUCLEAN));
    assert_eq!(files.stat("/up/outside"), Err(Errno::ENOTDIR));
    assert_eq!(files.readdir("/up"), Err(Errno::ENOTDIR));
    assert_eq!(MountedFiles::new(&root.join("link")).unwrap_err(), Errno::ENOTDIR);
}

/// Asserts that no file left open by a checker keeps the file system busy.
#[test]
fn everything_is_closed() {
    let directory = directory();
    let held = || {
        let links = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .map(|fd| std::fs::read_link(fd.unwrap().path()));
        links
            .filter(|path| path.as_ref().is_ok_and(|path| path.starts_with(directory.path())))
            .count()
    };
    let files = MountedFiles::new(directory.path()).unwrap();
    let fd = files.open("/f", OpenFlags::CREATE).unwrap();
    assert_eq!(files.readdir("/").unwrap().len(), 1);
    assert_eq!(held(), 2, "the root and the file");
    files.close_all();
    assert_eq!(held(), 0);
    assert_eq!(files.fsync(fd), Err(Errno::EBADF));
    assert_eq!(files.stat("/f"), Err(Errno::EBADF));
    assert_eq!(files.sync(), Err(Errno::EBADF));
    files.close_all();

    let files = MountedFiles::new(directory.path()).unwrap();
    files.open("/f", OpenFlags::EXISTING).unwrap();
    drop(files);
    assert_eq!(held(), 0);
}
