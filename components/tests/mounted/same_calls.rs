//! Single calls with the results that both kinds of files have, and the few that differ.

use explode_components::mounted::MountedFiles;
use explode_ramdisk::files::{Fd, FileKind, Files, OpenFlags, WriteFlag};
use nix::errno::Errno;

use crate::{EXCLUSIVE, directory, on_both, simulated};

const TRUNCATE: OpenFlags = OpenFlags { create: false, exclusive: false, truncate: true };

fn write(files: &dyn Files, path: &str, bytes: &[u8]) {
    let fd = files.open(path, OpenFlags::CREATE).unwrap();
    files.pwrite(fd, 0, bytes).unwrap();
    files.close(fd).unwrap();
}

fn names(files: &dyn Files, path: &str) -> Vec<String> {
    files.readdir(path).unwrap().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn names_and_their_errors() {
    on_both(|files| {
        assert_eq!(names(files, "/"), [""; 0]);
        assert_eq!(files.open("/f", OpenFlags::EXISTING), Err(Errno::ENOENT));
        assert_eq!(files.unlink("/f"), Err(Errno::ENOENT));
        assert_eq!(files.stat("/d/f"), Err(Errno::ENOENT));
        write(files, "/f", b"one");
        assert_eq!(files.open("/f", EXCLUSIVE), Err(Errno::EEXIST));
        assert_eq!(files.mkdir("/f"), Err(Errno::EEXIST));
        assert_eq!(files.open("/f/g", OpenFlags::CREATE), Err(Errno::ENOTDIR));
        assert_eq!(files.readdir("/f"), Err(Errno::ENOTDIR));
        assert_eq!(files.sync_dir("/f"), Err(Errno::ENOTDIR));
        assert_eq!(files.rmdir("/f"), Err(Errno::ENOTDIR));

        files.mkdir("/d").unwrap();
        assert_eq!(files.mkdir("/d"), Err(Errno::EEXIST));
        assert_eq!(files.open("/d", OpenFlags::EXISTING), Err(Errno::EISDIR));
        assert_eq!(files.link("/d", "/e"), Err(Errno::EPERM));
        write(files, "/d/g", b"two");
        assert_eq!(files.rmdir("/d"), Err(Errno::ENOTEMPTY));
        assert_eq!(
            files.readdir("/"),
            Ok(vec![("d".to_owned(), FileKind::Directory), ("f".to_owned(), FileKind::File)])
        );
        files.unlink("/d/g").unwrap();
        files.rmdir("/d").unwrap();
        assert_eq!(files.rmdir("/d"), Err(Errno::ENOENT));
        assert_eq!(names(files, "/"), ["f"]);
    });
}

#[test]
fn invalid_paths_are_refused() {
    on_both(|files| {
        for path in ["", "f", "//f", "/f/", "/.", "/..", "/d/../f"] {
            assert_eq!(files.stat(path), Err(Errno::EINVAL), "{path}");
            assert_eq!(files.open(path, OpenFlags::CREATE), Err(Errno::EINVAL), "{path}");
        }
        assert_eq!(files.stat(&format!("/{}", "n".repeat(256))), Err(Errno::ENAMETOOLONG));
    });
}

#[test]
fn the_root() {
    on_both(|files| {
        assert_eq!(files.stat("/").unwrap().kind, FileKind::Directory);
        assert_eq!(files.open("/", OpenFlags::CREATE), Err(Errno::EISDIR));
        assert_eq!(files.open("/", EXCLUSIVE), Err(Errno::EEXIST));
        assert_eq!(files.mkdir("/"), Err(Errno::EEXIST));
        assert_eq!(files.rmdir("/"), Err(Errno::EBUSY));
        assert_eq!(files.rename("/", "/d"), Err(Errno::EBUSY));
        assert_eq!(files.link("/", "/d"), Err(Errno::EPERM));
    });
}

#[test]
fn contents_holes_and_sizes() {
    on_both(|files| {
        let fd = files.open("/f", OpenFlags::CREATE).unwrap();
        files.pwrite(fd, 300_000, b"far").unwrap();
        files.pwrite(fd, 0, b"near").unwrap();
        files.pwrite(fd, 0, b"").unwrap();
        assert_eq!(files.fstat(fd).unwrap().size, 300_003);
        let mut expected = vec![0; 300_003];
        expected[..4].copy_from_slice(b"near");
        expected[300_000..].copy_from_slice(b"far");
        assert_eq!(files.read_file("/f").unwrap(), expected);
        let mut buf = [9; 8];
        assert_eq!(files.pread(fd, 299_999, &mut buf), Ok(4), "up to the end of the file");
        assert_eq!(&buf, b"\0far\x09\x09\x09\x09");
        assert_eq!(files.pread(fd, 300_003, &mut buf), Ok(0));

        files.ftruncate(fd, 2).unwrap();
        assert_eq!(files.read_file("/f").unwrap(), b"ne");
        files.ftruncate(fd, 6).unwrap();
        assert_eq!(
            files.read_file("/f").unwrap(),
            b"ne\0\0\0\0",
            "what was cut does not come back"
        );
        files.pwrite(fd, 8, b"end").unwrap();
        assert_eq!(files.read_file("/f").unwrap(), b"ne\0\0\0\0\0\0end");
        files.close(fd).unwrap();
        files.close(files.open("/f", TRUNCATE).unwrap()).unwrap();
        assert_eq!(files.read_file("/f").unwrap(), b"");
        let fd = files.open("/f", OpenFlags::EXISTING).unwrap();
        assert_eq!(files.pwrite(fd, u64::MAX - 1, b"too far"), Err(Errno::EFBIG));
        assert_eq!(files.ftruncate(fd, u64::MAX), Err(Errno::EFBIG));
    });
}

#[test]
fn appended_and_copied_bytes() {
    on_both(|files| {
        write(files, "/f", b"one");
        let fd = files.open_flagged("/f", OpenFlags::EXISTING, WriteFlag::Append).unwrap();
        files.pwrite(fd, 3, b"two").unwrap();
        files.close(fd).unwrap();
        assert_eq!(files.read_file("/f").unwrap(), b"onetwo");
        write(files, "/g", b"1");
        let open = |path| files.open(path, OpenFlags::EXISTING).unwrap();
        let (from, to) = (open("/f"), open("/g"));
        files.copy_range(from, to, 2, 3).unwrap();
        assert_eq!(files.read_file("/g").unwrap(), b"1\0etw");
        assert_eq!(files.copy_range(from, to, 7, 1), Err(Errno::EINVAL));
    });
}

#[test]
fn open_directories() {
    on_both(|files| {
        files.mkdir("/d").unwrap();
        let fd = files.open_directory("/d").unwrap();
        assert_eq!(files.fstat(fd).map(|stat| stat.kind), Ok(FileKind::Directory));
        files.rename("/d", "/e").unwrap();
        assert_eq!(files.fsync(fd), Ok(()));
        files.rmdir("/e").unwrap();
        assert_eq!(files.fsync(fd), Ok(()), "it was removed");
        files.close(fd).unwrap();
        assert_eq!(files.fsync(fd), Err(Errno::EBADF));
        assert_eq!(files.open_directory("/e"), Err(Errno::ENOENT));
        write(files, "/f", b"one");
        assert_eq!(files.open_directory("/f"), Err(Errno::ENOTDIR));
    });
}

#[test]
fn handles() {
    on_both(|files| {
        let one = files.open("/f", OpenFlags::CREATE).unwrap();
        let two = files.open("/f", OpenFlags::EXISTING).unwrap();
        assert_eq!((one, two), (Fd(0), Fd(1)));
        files.unlink("/f").unwrap();
        files.pwrite(one, 0, b"still there").unwrap();
        assert_eq!(files.fstat(two).map(|stat| (stat.size, stat.links)), Ok((11, 0)));
        files.close(one).unwrap();
        assert_eq!(files.close(one), Err(Errno::EBADF));
        assert_eq!(files.pread(one, 0, &mut [0]), Err(Errno::EBADF));
        assert_eq!(files.pwrite(one, 0, b""), Err(Errno::EBADF));
        assert_eq!(files.fsync(one), Err(Errno::EBADF));
        assert_eq!(
            files.open("/g", OpenFlags::CREATE),
            Ok(Fd(0)),
            "the smallest number that is free"
        );
    });
}

#[test]
fn links_and_renames() {
    on_both(|files| {
        write(files, "/a", b"a");
        write(files, "/b", b"b");
        files.mkdir("/d").unwrap();
        files.mkdir("/e").unwrap();
        files.link("/a", "/d/a").unwrap();
        assert_eq!(files.link("/b", "/d/a"), Err(Errno::EEXIST));
        assert_eq!(files.stat("/a"), files.stat("/d/a"));
        assert_eq!(files.stat("/a").unwrap().links, 2);
        files.rename("/a", "/d/a").unwrap();
        assert_eq!(
            names(files, "/"),
            ["a", "b", "d", "e"],
            "two names of one file: nothing happens"
        );
        files.rename("/b", "/a").unwrap();
        assert_eq!(files.read_file("/a").unwrap(), b"b", "over a file that is there");
        assert_eq!(files.read_file("/d/a").unwrap(), b"a");
        assert_eq!(files.stat("/d/a").unwrap().links, 1);
        assert_eq!(files.rename("/a", "/d"), Err(Errno::EISDIR));
        assert_eq!(files.rename("/d", "/a"), Err(Errno::ENOTDIR));
        assert_eq!(files.rename("/e", "/d"), Err(Errno::ENOTEMPTY));
        assert_eq!(files.rename("/d", "/d/in"), Err(Errno::EINVAL));
        assert_eq!(files.rename("/none", "/d"), Err(Errno::ENOENT));
        files.rename("/d", "/e").unwrap();
        assert_eq!(
            (names(files, "/"), names(files, "/e")),
            (vec!["a".into(), "e".into()], vec!["a".into()])
        );
    });
}

#[test]
fn syncs() {
    on_both(|files| {
        files.mkdir("/d").unwrap();
        let fd = files.open("/d/f", OpenFlags::CREATE).unwrap();
        files.pwrite(fd, 0, b"synced").unwrap();
        assert_eq!(files.fsync(fd), Ok(()));
        assert_eq!(files.fdatasync(fd), Ok(()));
        assert_eq!(files.sync_dir("/d"), Ok(()));
        assert_eq!(files.sync_dir("/"), Ok(()));
        assert_eq!(files.sync_dir("/none"), Err(Errno::ENOENT));
        assert_eq!(files.sync(), Ok(()));
    });
}

/// Asserts the differences that are allowed.
#[test]
fn linux_deviates_from_posix_in_known_places() {
    let simulated = simulated();
    let directory = directory();
    let mounted = MountedFiles::new(directory.path()).unwrap();
    for files in [&simulated as &dyn Files, &mounted] {
        files.mkdir("/d").unwrap();
    }
    // Linux has its own errno for the unlink of a directory.
    assert_eq!(
        (simulated.unlink("/d"), mounted.unlink("/d")),
        (Err(Errno::EPERM), Err(Errno::EISDIR))
    );
    // In file systems that store them, `.` and the `..` entries are also names of a directory.
    assert_eq!(simulated.stat("/d").unwrap().links, 1);
    // Linux has signed file offsets.
    let far = |files: &dyn Files| {
        let fd = files.open("/f", OpenFlags::CREATE).unwrap();
        files.pread(fd, u64::MAX, &mut [0])
    };
    assert_eq!((far(&simulated), far(&mounted)), (Ok(0), Err(Errno::EINVAL)));
}
