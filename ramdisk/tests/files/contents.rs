//! Tests of reads of written data, of names and links, and of a second mount of the live image.

use explode_ramdisk::files::{FileKind, OpenFlags, Stat};
use explode_ramdisk::{Files, SimFiles};

use crate::script::{BLOCK, fresh, make, on};

#[test]
fn an_image_of_zeroes_is_an_empty_file_system() {
    let files = fresh();
    assert_eq!(files.readdir("/").unwrap(), []);
    assert_eq!(
        files.stat("/").unwrap(),
        Stat { kind: FileKind::Directory, inode: 0, size: 0, links: 1 }
    );
    files.sync().unwrap();
    files.sync_dir("/").unwrap();
}

#[test]
fn reads_end_at_the_end() {
    let files = fresh();
    let fd = make(&files, "/f", b"0123456789");
    let mut buf = [b'-'; 4];
    assert_eq!(files.pread(fd, 8, &mut buf), Ok(2));
    assert_eq!(&buf, b"89--");
    for offset in [10, 11, 1 << 62, u64::MAX] {
        assert_eq!(files.pread(fd, offset, &mut buf), Ok(0));
    }
    assert_eq!(files.pread(fd, 3, &mut buf), Ok(4));
    assert_eq!(&buf, b"3456");
}

#[test]
fn truncated_bytes_do_not_come_back() {
    let files = fresh();
    let fd = make(&files, "/f", &[1; 3 * BLOCK]);
    files.ftruncate(fd, 10).unwrap();
    files.pwrite(fd, 20, b"x").unwrap();
    files.ftruncate(fd, 2 * BLOCK as u64 + 7).unwrap();
    files.pwrite(fd, 3 * BLOCK as u64, b"y").unwrap();
    let mut expected = vec![1; 10];
    expected.resize(3 * BLOCK + 1, 0);
    expected[20] = b'x';
    expected[3 * BLOCK] = b'y';
    assert!(files.read_file("/f").unwrap() == expected);
}

#[test]
fn links_share_contents_and_are_counted() {
    let files = fresh();
    let fd = make(&files, "/f", b"one");
    files.mkdir("/d").unwrap();
    files.link("/f", "/d/g").unwrap();
    files.pwrite(fd, 0, b"two").unwrap();
    assert_eq!(files.read_file("/d/g").unwrap(), b"two");
    assert_eq!(
        files.stat("/d/g").unwrap(),
        Stat { kind: FileKind::File, inode: 1, size: 3, links: 2 }
    );
    files.unlink("/f").unwrap();
    assert_eq!(files.fstat(fd).unwrap().links, 1);
    files.rename("/d/g", "/f").unwrap();
    assert_eq!(files.read_file("/f").unwrap(), b"two");
}

#[test]
fn an_open_file_outlives_its_name() {
    let files = fresh();
    let fd = make(&files, "/f", b"old");
    files.unlink("/f").unwrap();
    files.close(make(&files, "/f", b"other")).unwrap();
    files.sync().unwrap();
    files.pwrite(fd, 3, b"er").unwrap();
    let mut buf = [0; 9];
    assert_eq!(files.pread(fd, 0, &mut buf), Ok(5));
    assert_eq!(&buf[..5], b"older");
    assert_eq!(files.read_file("/f").unwrap(), b"other");
}

#[test]
fn clones_are_the_same_file_system() {
    let files = fresh();
    let fd = make(&files.clone(), "/f", b"x");
    assert_eq!(files.fstat(fd).unwrap().size, 1);
}

#[test]
fn a_directory_moves_with_its_contents() {
    let files = fresh();
    files.mkdir("/a").unwrap();
    files.mkdir("/b").unwrap();
    files.mkdir("/a/c").unwrap();
    files.close(make(&files, "/a/c/f", b"x")).unwrap();
    files.rename("/a", "/b/a").unwrap();
    assert_eq!(files.read_file("/b/a/c/f").unwrap(), b"x");
    files.rename("/b/a/c", "/c").unwrap();
    files.rename("/b", "/c/b").unwrap();
    assert_eq!(files.readdir("/").unwrap(), [("c".to_owned(), FileKind::Directory)]);
    let inside = [("b".to_owned(), FileKind::Directory), ("f".to_owned(), FileKind::File)];
    assert_eq!(files.readdir("/c").unwrap(), inside);
}

#[test]
fn the_live_image_mounts_to_the_same_tree() {
    let files = fresh();
    let long = format!("/{}", "\u{e9}".repeat(127));
    files.mkdir(&long).unwrap();
    files.close(make(&files, &format!("{long}/f"), &[7; 10_000])).unwrap();
    files.link(&format!("{long}/f"), "/g").unwrap();
    files.mkdir("/empty").unwrap();
    files.open("/nothing", OpenFlags::CREATE).unwrap();
    let fd = files.open("/cut", OpenFlags::CREATE).unwrap();
    files.pwrite(fd, 0, &[3; 5000]).unwrap();
    files.ftruncate(fd, 4097).unwrap();
    files.unlink("/empty").unwrap_err();
    files.rmdir("/empty").unwrap();

    let again = on(files.storage().image());
    let same = |path: &str| {
        let stats = |files: &SimFiles| files.stat(path).unwrap();
        assert_eq!(stats(&files), stats(&again), "{path}");
        match files.readdir(path) {
            Ok(names) => assert_eq!(names, again.readdir(path).unwrap()),
            Err(_) => assert!(files.read_file(path).unwrap() == again.read_file(path).unwrap()),
        }
    };
    for path in ["/", &long, &format!("{long}/f"), "/g", "/nothing", "/cut"] {
        same(path);
    }
    assert_eq!(again.readdir("/").unwrap().len(), 4);
    again.mkdir("/new").unwrap();
    files.mkdir("/new").unwrap();
    assert_eq!(again.stat("/new").unwrap().inode, files.stat("/new").unwrap().inode);
}

#[test]
fn the_cost_of_a_sparse_file_depends_on_its_data() {
    let files = fresh();
    let fd = files.open("/f", OpenFlags::CREATE).unwrap();
    for gigabytes in 0..1000 {
        files.pwrite(fd, gigabytes << 30, b"x").unwrap();
    }
    files.ftruncate(fd, 1).unwrap();
    files.ftruncate(fd, 1 << 49).unwrap();
    let mut buf = [1; 100];
    files.pread(fd, 999 << 30, &mut buf).unwrap();
    assert_eq!(buf, [0; 100]);
}
