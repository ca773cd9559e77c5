//! Tests of contents that cannot be read.

use explode_ramdisk::files::{Files, Granule, OpenFlags};
use explode_ramdisk::{Damage, Event, Image, ReadFault, Recording, SimFiles, Storage};
use nix::errno::Errno;

/// Returns a file of three blocks, of which the second cannot be read.
fn damaged() -> (Storage, SimFiles, explode_ramdisk::files::Fd) {
    let storage = Storage::new(Image::new(), Recording::On);
    let files = SimFiles::mount(storage.clone(), 0, Granule::default()).unwrap();
    let fd = files.open("/f", OpenFlags::CREATE).unwrap();
    files.pwrite(fd, 0, &[b'x'; 12_000]).unwrap();
    files.sync().unwrap();
    let [(path, device, bytes)] = &files.list()[..] else { panic!("{:?}", files.list()) };
    assert_eq!((path.as_str(), *bytes), ("/f", 12_000));
    storage.damage(*device, &Damage::Sectors(8..16, ReadFault::Unreadable));
    storage.take_log();
    (storage, files, fd)
}

#[test]
fn only_reads_that_touch_a_bad_block_fail() {
    let (_, files, fd) = damaged();
    let read = |offset, len| files.pread(fd, offset, &mut vec![0; len]);
    assert_eq!((read(0, 4096), read(8192, 9000)), (Ok(4096), Ok(3808)));
    assert_eq!((read(4095, 2), read(8191, 1)), (Err(Errno::EIO), Err(Errno::EIO)));
    assert_eq!(files.read_file("/f"), Err(Errno::EIO));
}

/// A write of a part of the block fails and changes nothing, because the rest must be read. A write
/// of the whole block succeeds and makes it readable.
#[test]
fn the_whole_block_can_be_written() {
    let (storage, files, fd) = damaged();
    assert_eq!(files.pwrite(fd, 5000, b"part"), Err(Errno::EIO));
    assert_eq!(files.pwrite(fd, 5000, &[b'y'; 9000]), Err(Errno::EIO));
    assert_eq!(storage.take_log(), []);
    files.pwrite(fd, 4096, &[b'y'; 4096]).unwrap();
    let contents = files.read_file("/f").unwrap();
    assert!(contents[..4096].iter().chain(&contents[8192..]).all(|byte| *byte == b'x'));
    assert!(contents[4096..8192].iter().all(|byte| *byte == b'y'));
    assert!(storage.take_log().iter().all(|event| matches!(event, Event::Dirty { .. })));
}

/// A file that was cut within the block cannot grow, because the bytes behind the cut would have to
/// become zeroes.
#[test]
fn a_file_that_ends_in_a_bad_block_cannot_grow_over_it() {
    let (storage, files, fd) = damaged();
    files.ftruncate(fd, 5000).unwrap();
    storage.take_log();
    assert_eq!(files.ftruncate(fd, 6000), Err(Errno::EIO));
    assert_eq!(files.pwrite(fd, 8192, b"z"), Err(Errno::EIO));
    assert_eq!((storage.take_log(), files.fstat(fd).unwrap().size), (vec![], 5000));
}

#[test]
fn files_are_listed_once_level_by_level() {
    let (_, files, _) = damaged();
    files.mkdir("/d").unwrap();
    files.link("/f", "/d/a").unwrap();
    files.link("/f", "/d/z").unwrap();
    let fd = files.open("/d/b", OpenFlags::CREATE).unwrap();
    files.pwrite(fd, 0, b"b").unwrap();
    let list = files.list();
    let names: Vec<&str> = list.iter().map(|(path, ..)| path.as_str()).collect();
    assert_eq!(names, ["/f", "/d/b"]);
    assert_eq!(list[1].2, 1);
}
