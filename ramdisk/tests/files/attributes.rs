//! Tests of symbolic links, modes, extended attributes, exchanges and ranges: visible results
//! before and after a second mount, and errors.

use explode_ramdisk::files::{Fallocate, FileKind, OpenFlags, Renaming};
use explode_ramdisk::{Files, SimFiles};
use nix::errno::Errno;

use crate::script::{BLOCK, fresh, make, on};

/// Returns the same files after a second mount.
fn again(files: &SimFiles) -> SimFiles {
    files.sync().unwrap();
    on(files.storage().image())
}

#[test]
fn symbolic_links() {
    let files = fresh();
    files.symlink("anywhere", "/s").unwrap();
    for files in [&files, &again(&files)] {
        assert_eq!(files.readlink("/s").unwrap(), "anywhere");
        assert_eq!(files.readdir("/").unwrap(), [("s".to_owned(), FileKind::Symlink)]);
        assert_eq!(files.open("/s", OpenFlags::EXISTING), Err(Errno::ELOOP));
        assert_eq!(files.stat("/s/x"), Err(Errno::ENOTDIR));
        assert_eq!(files.chmod("/s", 0o600), Err(Errno::EPERM));
        assert_eq!(files.symlink("x", "/s"), Err(Errno::EEXIST));
    }
    assert_eq!(files.symlink("", "/t"), Err(Errno::ENOENT));
    assert_eq!(files.symlink(&"t".repeat(4095), "/t"), Err(Errno::ENAMETOOLONG));
    files.symlink(&"t".repeat(4094), "/t").unwrap();
    // A symbolic link replaces a file, and a file replaces a symbolic link.
    files.close(make(&files, "/f", b"x")).unwrap();
    files.rename("/s", "/f").unwrap();
    assert_eq!(files.readlink("/f").unwrap(), "anywhere");
    assert_eq!(files.readlink("/"), Err(Errno::EINVAL));
    files.mkdir("/d").unwrap();
    assert_eq!(files.rename("/f", "/d"), Err(Errno::EISDIR));
    assert_eq!(files.rename("/d", "/f"), Err(Errno::ENOTDIR));
}

#[test]
fn modes_and_extended_attributes() {
    let files = fresh();
    files.close(make(&files, "/f", b"x")).unwrap();
    files.mkdir("/d").unwrap();
    assert_eq!(["/f", "/d"].map(|path| files.mode(path).unwrap()), [0o644, 0o755]);
    for path in ["/f", "/d"] {
        files.chmod(path, 0).unwrap();
        files.setxattr(path, "user.b", b"").unwrap();
        files.setxattr(path, "user.a", &[7; 400]).unwrap();
        files.setxattr(path, "user.c", b"c").unwrap();
        files.removexattr(path, "user.c").unwrap();
        assert_eq!(files.removexattr(path, "user.c"), Err(Errno::ENODATA));
        assert_eq!(files.setxattr(path, "user.d", &[7; 504]), Err(Errno::ENOSPC));
    }
    files.close(make(&files, "/d/x", b"x")).unwrap();
    for files in [&files, &again(&files)] {
        for path in ["/f", "/d"] {
            assert_eq!(files.mode(path).unwrap(), 0);
            let expected = [("user.a".to_owned(), vec![7; 400]), ("user.b".to_owned(), Vec::new())];
            assert_eq!(files.xattrs(path).unwrap(), expected);
        }
        assert_eq!(files.readdir("/d").unwrap(), [("x".to_owned(), FileKind::File)]);
    }
}

#[test]
fn exchanges_and_renames_that_replace_nothing() {
    let files = fresh();
    files.close(make(&files, "/f", b"x")).unwrap();
    files.mkdir("/d").unwrap();
    files.mkdir("/d/e").unwrap();
    assert_eq!(files.rename_with("/f", "/d", Renaming::NoReplace), Err(Errno::EEXIST));
    assert_eq!(files.rename_with("/f", "/g", Renaming::Exchange), Err(Errno::ENOENT));
    assert_eq!(files.rename_with("/d", "/d/e", Renaming::Exchange), Err(Errno::EINVAL));
    files.rename_with("/f", "/d/e", Renaming::Exchange).unwrap();
    for files in [&files, &again(&files)] {
        assert_eq!(files.read_file("/d/e").unwrap(), b"x");
        assert_eq!(files.readdir("/f").unwrap(), []);
        assert_eq!(files.stat("/d/e").unwrap().links, 1);
    }
    files.rename_with("/d/e", "/g", Renaming::NoReplace).unwrap();
    assert_eq!(files.read_file("/g").unwrap(), b"x");
}

#[test]
fn a_file_without_a_name_gets_one() {
    let files = fresh();
    let fd = files.open_unnamed("/").unwrap();
    files.pwrite(fd, 0, b"x").unwrap();
    assert_eq!(files.fstat(fd).unwrap().links, 0);
    assert_eq!(files.readdir("/").unwrap(), []);
    files.link_open(fd, "/f").unwrap();
    assert_eq!(files.link_open(fd, "/f"), Err(Errno::EEXIST));
    files.close(fd).unwrap();
    assert_eq!(again(&files).read_file("/f").unwrap(), b"x");
    // A file without a name is forgotten when it is closed.
    files.close(files.open_unnamed("/").unwrap()).unwrap();
    assert_eq!(files.list().len(), 1);
}

#[test]
fn ranges_and_clones() {
    let files = fresh();
    let block = |byte: u8| vec![byte; BLOCK];
    let fd = make(&files, "/f", &[block(1), block(2), vec![3; 100]].concat());
    let len = BLOCK as u64;
    let fallocate = |how, at, len| files.fallocate(fd, how, at, len);
    let holds = |parts: &[Vec<u8>]| assert!(files.read_file("/f").unwrap() == parts.concat());
    assert_eq!(fallocate(Fallocate::Allocate, 0, 0), Err(Errno::EINVAL));
    fallocate(Fallocate::KeepSize, 5 * len, len).unwrap();
    fallocate(Fallocate::Allocate, 0, len).unwrap();
    holds(&[block(1), block(2), vec![3; 100]]);
    assert_eq!(fallocate(Fallocate::CollapseRange, 1, len), Err(Errno::EINVAL));
    assert_eq!(fallocate(Fallocate::CollapseRange, 2 * len, len), Err(Errno::EINVAL));
    fallocate(Fallocate::CollapseRange, 0, len).unwrap();
    holds(&[block(2), vec![3; 100]]);
    fallocate(Fallocate::InsertRange, len, len).unwrap();
    holds(&[block(2), block(0), vec![3; 100]]);
    assert_eq!(fallocate(Fallocate::InsertRange, 3 * len, len), Err(Errno::EINVAL));
    fallocate(Fallocate::PunchHole, 2 * len + 50, len).unwrap();
    holds(&[block(2), block(0), vec![3; 50], vec![0; 50]]);
    fallocate(Fallocate::ZeroRange, 2 * len, len).unwrap();
    holds(&[block(2), block(0), block(0)]);
    fallocate(Fallocate::Allocate, 3 * len, 10).unwrap();
    holds(&[block(2), block(0), block(0), vec![0; 10]]);
    let other = files.open("/g", OpenFlags::CREATE).unwrap();
    files.clone_file(fd, other).unwrap();
    assert!(files.read_file("/g").unwrap() == files.read_file("/f").unwrap());
    assert_eq!(files.clone_file(fd, other), Err(Errno::EINVAL));
    files.pwrite(fd, 10, b"copied").unwrap();
    files.copy_range(fd, other, 12, 4).unwrap();
    let (mut found, size) = ([0; 8], files.fstat(fd).unwrap().size);
    files.pread(other, 11, &mut found).unwrap();
    assert_eq!((&found[1..5], found[0] == found[5]), (&b"pied"[..], true));
    assert_eq!(files.copy_range(fd, other, size - 1, 2), Err(Errno::EINVAL));
}
