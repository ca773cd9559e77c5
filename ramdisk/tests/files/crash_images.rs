//! Tests of mounts of unusual crash disks, which are built by hand.

use explode_ramdisk::files::{FileKind, OpenFlags};
use explode_ramdisk::{Disk, Files, Image, SimFiles};
use nix::errno::Errno;

use crate::script::{SIZE_SECTOR, make, on, padded, slot};

/// The kind and inode that a name leads to, and the name.
type Slot<'a> = (FileKind, u32, &'a str);

/// Returns an image of directories, each with these slots.
fn image(directories: &[(u32, &[Slot<'_>])]) -> Image {
    let disk = |slots: &[Slot<'_>]| {
        let bytes: Vec<_> =
            slots.iter().map(|(kind, inode, name)| slot(*kind, *inode, name)).collect();
        Disk::from_bytes(&bytes.concat())
    };
    directories.iter().map(|(dev, slots)| (*dev, disk(slots))).collect()
}

const FILE: FileKind = FileKind::File;
const DIRECTORY: FileKind = FileKind::Directory;

#[test]
fn a_name_without_its_inode() {
    let files = on(image(&[(0, &[(FILE, 5, "f"), (DIRECTORY, 7, "d")])]));
    assert_eq!(files.read_file("/f").unwrap(), b"");
    assert_eq!(files.readdir("/d").unwrap(), []);
    files.close(make(&files, "/d/new", b"x")).unwrap();
    assert_eq!(files.stat("/d/new").unwrap().inode, 8);
    let fd = make(&files, "/f", b"found");
    assert_eq!(files.fstat(fd).unwrap().size, 5);
}

#[test]
fn contents_without_a_size_and_a_size_without_contents() {
    let mut disk = Disk::new();
    disk.write(SIZE_SECTOR, &padded(&5000u64.to_le_bytes(), 512));
    let mut image = image(&[(0, &[(FILE, 1, "sized"), (FILE, 2, "filled")])]);
    *image.disk_mut(1) = disk;
    *image.disk_mut(2) = Disk::from_bytes(&[7; 8192]);
    let files = on(image);
    assert_eq!(files.read_file("/sized").unwrap(), [0; 5000]);
    assert_eq!(files.read_file("/filled").unwrap(), b"");
    let fd = files.open("/filled", OpenFlags::EXISTING).unwrap();
    files.pwrite(fd, 5000, b"x").unwrap();
    let mut expected = vec![0; 5000];
    expected.push(b'x');
    assert_eq!(files.read_file("/filled").unwrap(), expected);
}

#[test]
fn inodes_that_no_name_leads_to_keep_their_numbers() {
    let mut image = image(&[(0, &[(FILE, 1, "f")]), (9, &[(FILE, 30, "unseen")])]);
    let files = on(image.clone());
    files.mkdir("/d").unwrap();
    assert_eq!(files.stat("/d").unwrap().inode, 10);
    assert_eq!(files.readdir("/d").unwrap(), []);

    image.disk_mut(20).write(0, &[0; 512]);
    image.disk_mut((1 << 20) + 3).write(0, &[1; 512]);
    let files = on(image);
    files.mkdir("/d").unwrap();
    assert_eq!(files.stat("/d").unwrap().inode, 10, "neither zeroes nor devices of others count");
}

#[test]
fn both_names_of_a_rename() {
    let files = on(image(&[
        (0, &[(DIRECTORY, 1, "old"), (DIRECTORY, 1, "new"), (FILE, 2, "f"), (FILE, 2, "g")]),
        (1, &[(FILE, 3, "inside")]),
    ]));
    assert_eq!(files.stat("/old").unwrap().links, 2);
    assert_eq!(files.stat("/f").unwrap().links, 2);
    files.rename("/old", "/new").unwrap();
    assert_eq!(files.readdir("/").unwrap().len(), 4, "two names of one inode: nothing happens");
    assert_eq!(files.rename("/old", "/new/below"), Err(Errno::EINVAL));
    files.rename("/old/inside", "/moved").unwrap();
    assert_eq!(files.readdir("/new").unwrap(), []);
    files.rmdir("/old").unwrap();
    files.sync().unwrap();
    make(&files, "/new/x", b"still there");
    files.unlink("/new/x").unwrap();
    files.rmdir("/new").unwrap();
    assert_eq!(files.readdir("/").unwrap().len(), 3);
}

/// Returns a crash disk that keeps `/b/a`, `/a` and `/a/b`: `/a` was moved out of `/b`, then `/b`
/// into `/a`.
fn cycle() -> SimFiles {
    on(image(&[
        (0, &[(DIRECTORY, 1, "a")]),
        (1, &[(DIRECTORY, 2, "b")]),
        (2, &[(DIRECTORY, 1, "a")]),
    ]))
}

#[test]
fn a_cycle_of_names() {
    let files = cycle();
    assert_eq!(files.stat("/a").unwrap(), files.stat("/a/b/a").unwrap());
    assert_eq!(files.stat("/a").unwrap().links, 2);
    assert_eq!(files.rmdir("/a/b/a"), Err(Errno::ENOTEMPTY));
    assert_eq!(files.rename("/a", "/a/b/a/b/c"), Err(Errno::EINVAL));
    assert_eq!(files.stat(&"/a/b".repeat(1023)).unwrap().inode, 2);
    assert_eq!(files.stat(&"/a/b".repeat(1024)), Err(Errno::ENAMETOOLONG), "so that a walk ends");
    files.sync().unwrap();
}

#[test]
fn a_cycle_of_directories_can_be_removed() {
    let files = cycle();
    files.rename("/a/b", "/b").unwrap();
    assert_eq!(files.stat("/b/a").unwrap(), files.stat("/a").unwrap());
    files.rmdir("/b/a").unwrap();
    files.rmdir("/b").unwrap();
    files.rmdir("/a").unwrap();
    files.sync().unwrap();
    assert_eq!(on(files.storage().image()).readdir("/").unwrap(), []);
}

#[test]
fn a_directory_that_leads_to_itself() {
    let files = on(image(&[(0, &[(DIRECTORY, 1, "a")]), (1, &[(DIRECTORY, 1, "self")])]));
    files.rename("/a/self", "/a").unwrap();
    assert_eq!(files.stat("/a/self/self").unwrap().inode, 1);
}

#[test]
fn new_names_come_after_the_last_slot_in_use() {
    let mut disk = Disk::new();
    disk.write(3, &slot(FILE, 1, "f"));
    disk.write(5, &slot(FILE, 1, "g"));
    disk.write(5, &[0; 512]);
    let files = on(Image::from_iter([(0, disk)]));
    files.mkdir("/d").unwrap();
    crate::script::Script::new().name(0, 4, DIRECTORY, 2, "d").expect(&files);
}
