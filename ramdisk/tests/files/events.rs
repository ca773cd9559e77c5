//! Tests of the exact events of each row of the table in `docs/model/fault-model.md`, section 7.

use explode_ramdisk::files::{Fd, FileKind, Granule, OpenFlags};
use explode_ramdisk::{Files, Image, Recording, SimFiles, Storage};

use crate::script::{BLOCK, Script, fresh, make, padded, slot};

/// Returns files with an empty, synced file `/f`, which is inode 1.
fn with_file() -> (SimFiles, Fd) {
    let files = fresh();
    let fd = files.open("/f", OpenFlags::CREATE).unwrap();
    files.sync().unwrap();
    files.storage().take_log();
    (files, fd)
}

fn block(byte: u8) -> Vec<u8> {
    vec![byte; BLOCK]
}

#[test]
fn names() {
    let files = fresh();
    files.open("/f", OpenFlags::CREATE).unwrap();
    Script::new().name(0, 0, FileKind::File, 1, "f").expect(&files);
    files.open("/f", OpenFlags::CREATE).unwrap();
    Script::new().expect(&files);
    files.mkdir("/d").unwrap();
    Script::new().name(0, 1, FileKind::Directory, 2, "d").expect(&files);
    files.link("/f", "/d/g").unwrap();
    Script::new().name(2, 0, FileKind::File, 1, "g").expect(&files);
    files.unlink("/d/g").unwrap();
    Script::new().no_name(2, 0).expect(&files);
    files.rmdir("/d").unwrap();
    Script::new().no_name(0, 1).expect(&files);
}

#[test]
fn a_name_keeps_its_slot_and_no_other_gets_it() {
    let files = fresh();
    for _ in 0..2 {
        files.mkdir("/a").unwrap();
        files.rmdir("/a").unwrap();
    }
    files.mkdir("/b").unwrap();
    files.mkdir("/a").unwrap();
    Script::new()
        .name(0, 0, FileKind::Directory, 1, "a")
        .no_name(0, 0)
        .name(0, 0, FileKind::Directory, 2, "a")
        .no_name(0, 0)
        .name(0, 1, FileKind::Directory, 3, "b")
        .name(0, 0, FileKind::Directory, 4, "a")
        .expect(&files);
}

#[test]
fn rename_is_the_new_name_then_the_old() {
    let files = fresh();
    make(&files, "/f", b"");
    make(&files, "/g", b"");
    files.mkdir("/d").unwrap();
    files.storage().take_log();
    files.rename("/f", "/g").unwrap();
    Script::new().name(0, 1, FileKind::File, 1, "g").no_name(0, 0).expect(&files);
    files.rename("/g", "/d/h").unwrap();
    Script::new().name(3, 0, FileKind::File, 1, "h").no_name(0, 1).expect(&files);
    files.rename("/d/h", "/d/h").unwrap();
    Script::new().expect(&files);
    files.link("/d/h", "/f").unwrap();
    files.storage().take_log();
    files.rename("/d/h", "/f").unwrap();
    Script::new().expect(&files);
    assert_eq!(files.stat("/d/h").unwrap().links, 2, "both names stay");
    files.unlink("/d/h").unwrap();
    files.mkdir("/e").unwrap();
    files.storage().take_log();
    files.rename("/e", "/d").unwrap();
    Script::new().name(0, 2, FileKind::Directory, 4, "d").no_name(0, 3).expect(&files);
}

#[test]
fn a_write_is_its_blocks_whole_and_the_size_if_it_grew() {
    let (files, fd) = with_file();
    files.pwrite(fd, 0, b"one").unwrap();
    Script::new().dirty(1, 0, padded(b"one", BLOCK)).size(1, 3).expect(&files);
    files.pwrite(fd, 1, b"w").unwrap();
    Script::new().dirty(1, 0, padded(b"owe", BLOCK)).expect(&files);
    files.pwrite(fd, 1, b"w").unwrap();
    Script::new().dirty(1, 0, padded(b"owe", BLOCK)).expect(&files);
    files.pwrite(fd, 100_000, b"").unwrap();
    Script::new().expect(&files);

    files.pwrite(fd, 4094, b"crossing").unwrap();
    let mut two = padded(b"owe", 4094).to_vec();
    two.extend(b"crossing");
    Script::new().dirty(1, 0, padded(&two, 2 * BLOCK)).size(1, 4102).expect(&files);
}

#[test]
fn a_hole_is_not_written() {
    let (files, fd) = with_file();
    files.pwrite(fd, 5 * BLOCK as u64 + 10, b"far").unwrap();
    let far = padded(&[&[0; 10][..], b"far"].concat(), BLOCK);
    Script::new().dirty(1, 40, far).size(1, 5 * 4096 + 13).expect(&files);
    files.ftruncate(fd, 1 << 45).unwrap();
    Script::new().size(1, 1 << 45).expect(&files);
}

#[test]
fn truncate_makes_one_event_of_the_size() {
    let (files, fd) = with_file();
    files.pwrite(fd, 0, &block(1)).unwrap();
    files.storage().take_log();
    files.ftruncate(fd, 10).unwrap();
    Script::new().size(1, 10).expect(&files);
    files.ftruncate(fd, 10).unwrap();
    Script::new().expect(&files);
    let cut = OpenFlags { truncate: true, ..OpenFlags::EXISTING };
    files.open("/f", cut).unwrap();
    Script::new().size(1, 0).expect(&files);
    files.open("/f", cut).unwrap();
    Script::new().expect(&files);
}

/// Returns a file of five blocks, cut to 10 bytes. The fourth block is zeroes, the others are ones.
fn with_old_contents() -> (SimFiles, Fd) {
    let (files, fd) = with_file();
    files.pwrite(fd, 0, &block(1).repeat(3)).unwrap();
    files.pwrite(fd, 4 * BLOCK as u64, &block(1)).unwrap();
    files.ftruncate(fd, 10).unwrap();
    files.storage().take_log();
    (files, fd)
}

#[test]
fn growing_clears_the_bytes_beyond_the_end() {
    let (files, fd) = with_old_contents();
    files.ftruncate(fd, 5 * BLOCK as u64).unwrap();
    Script::new()
        .dirty(1, 0, padded(&[1; 10], 3 * BLOCK))
        .dirty(1, 32, padded(&[], BLOCK))
        .size(1, 5 * BLOCK as u64)
        .expect(&files);
}

#[test]
fn growing_clears_only_bytes_that_become_visible() {
    let (files, fd) = with_old_contents();
    files.ftruncate(fd, 4096).unwrap();
    Script::new().dirty(1, 0, padded(&[1; 10], BLOCK)).size(1, 4096).expect(&files);
    files.ftruncate(fd, 4097).unwrap();
    Script::new().dirty(1, 8, padded(&[], BLOCK)).size(1, 4097).expect(&files);
    files.ftruncate(fd, 8192).unwrap();
    Script::new().size(1, 8192).expect(&files);
}

#[test]
fn a_write_beyond_the_end_clears_the_blocks_before_it() {
    let (files, fd) = with_old_contents();
    files.pwrite(fd, 2 * BLOCK as u64 + 3, b"new").unwrap();
    Script::new()
        .dirty(1, 0, padded(&[1; 10], 2 * BLOCK))
        .dirty(1, 16, padded(b"\0\0\0new", BLOCK))
        .size(1, 2 * 4096 + 6)
        .expect(&files);
}

#[test]
fn a_write_in_the_last_block_needs_one_event() {
    let (files, fd) = with_old_contents();
    files.pwrite(fd, 12, b"new").unwrap();
    let contents = [&[1; 10][..], b"\0\0new"].concat();
    Script::new().dirty(1, 0, padded(&contents, BLOCK)).size(1, 15).expect(&files);
    files.pwrite(fd, 0, b"!").unwrap();
    let contents = [b"!", &[1; 9][..], b"\0\0new"].concat();
    Script::new().dirty(1, 0, padded(&contents, BLOCK)).expect(&files);
}

#[test]
fn fsync_is_each_run_of_blocks_the_size_and_a_flush() {
    let (files, fd) = with_file();
    for number in [0, 1, 4, 2, 7] {
        files.pwrite(fd, number * BLOCK as u64, &block(number as u8 + 1)).unwrap();
    }
    files.storage().take_log();
    files.fsync(fd).unwrap();
    Script::new()
        .written(1, 0, [block(1), block(2), block(3)].concat().into())
        .written(1, 32, block(5).into())
        .written(1, 56, block(8).into())
        .size_written(1, 8 * 4096)
        .flushed(1)
        .expect(&files);
    files.fsync(fd).unwrap();
    Script::new().flushed(1).expect(&files);
    files.pwrite(fd, 0, b"again").unwrap();
    files.storage().take_log();
    files.fdatasync(fd).unwrap();
    Script::new()
        .written(1, 0, [b"again".to_vec(), vec![1; 4091]].concat().into())
        .flushed(1)
        .expect(&files);
    files.ftruncate(fd, 1).unwrap();
    files.storage().take_log();
    files.fdatasync(fd).unwrap();
    Script::new().size_written(1, 1).flushed(1).expect(&files);
}

#[test]
fn fsync_writes_a_block_as_its_last_event_had_it() {
    let (files, fd) = with_file();
    files.pwrite(fd, 0, &block(1)).unwrap();
    files.ftruncate(fd, 10).unwrap();
    files.storage().take_log();
    files.fsync(fd).unwrap();
    Script::new().written(1, 0, block(1).into()).size_written(1, 10).flushed(1).expect(&files);
}

#[test]
fn sync_dir_is_its_names() {
    let files = fresh();
    for name in ["/a", "/b", "/c", "/d"] {
        files.close(make(&files, name, b"")).unwrap();
    }
    files.sync_dir("/").unwrap();
    files.unlink("/d").unwrap();
    files.rename("/a", "/b").unwrap();
    files.mkdir("/e").unwrap();
    files.mkdir("/e/inside").unwrap();
    files.storage().take_log();
    files.sync_dir("/").unwrap();
    // One request for each slot. A request for several slots would be one piece that matches none
    // of the pending ones.
    Script::new()
        .written(0, 0, padded(&[], 512))
        .written(0, 1, slot(FileKind::File, 1, "b"))
        .written(0, 3, padded(&[], 512))
        .written(0, 4, slot(FileKind::Directory, 5, "e"))
        .flushed(0)
        .expect(&files);
    files.sync_dir("/").unwrap();
    Script::new().flushed(0).expect(&files);
    files.sync_dir("/e").unwrap();
    Script::new().written(5, 0, slot(FileKind::Directory, 6, "inside")).flushed(5).expect(&files);
}

#[test]
fn sync_is_all_devices_with_something_dirty_in_order() {
    let files = fresh();
    make(&files, "/a", b"a");
    files.mkdir("/d").unwrap();
    make(&files, "/d/b", b"b");
    make(&files, "/c", b"c");
    files.sync().unwrap();
    files.storage().take_log();
    files.sync().unwrap();
    Script::new().expect(&files);

    make(&files, "/c", b"C");
    make(&files, "/a", b"A");
    files.mkdir("/d/e").unwrap();
    files.storage().take_log();
    files.sync().unwrap();
    Script::new()
        .written(1, 0, padded(b"A", BLOCK))
        .flushed(1)
        .written(2, 1, slot(FileKind::Directory, 5, "e"))
        .flushed(2)
        .written(4, 0, padded(b"C", BLOCK))
        .flushed(4)
        .expect(&files);
}

#[test]
fn close_and_reads_make_no_events() {
    let (files, fd) = with_file();
    files.pread(fd, 0, &mut [0; 10]).unwrap();
    files.fstat(fd).unwrap();
    files.stat("/f").unwrap();
    files.readdir("/").unwrap();
    files.read_file("/f").unwrap();
    files.close(fd).unwrap();
    Script::new().expect(&files);
}

#[test]
fn another_granule_and_other_devices() {
    let storage = Storage::new(Image::new(), Recording::On);
    let files = SimFiles::mount(storage, 100, Granule(512)).unwrap();
    let fd = make(&files, "/f", b"small");
    files.pwrite(fd, 1000, b"next").unwrap();
    let next = [&[0; 1000 - 512][..], b"next"].concat();
    Script::new()
        .name(100, 0, FileKind::File, 1, "f")
        .dirty(101, 0, padded(b"small", 512))
        .size(101, 5)
        .dirty(101, 1, padded(&next, 512))
        .size(101, 1004)
        .expect(&files);
    assert_eq!(files.device(1), 101);
}
