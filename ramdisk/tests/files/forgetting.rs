//! Tests of when the dirty contents of an unreachable inode are cleaned.

use explode_ramdisk::files::{FileKind, OpenFlags};
use explode_ramdisk::{Files, SimFiles};

use crate::script::{BLOCK, SIZE_SECTOR, Script, fresh, make, padded, slot};

/// Returns files with `/f`, whose name is synced and which has no open handle. Three of its blocks,
/// two of them adjacent, and its size are dirty.
fn with_dirty_file() -> SimFiles {
    let files = fresh();
    let fd = make(&files, "/f", b"first");
    files.pwrite(fd, 4 * BLOCK as u64, &[1; 2 * BLOCK]).unwrap();
    files.sync_dir("/").unwrap();
    files.close(fd).unwrap();
    files.storage().take_log();
    files
}

fn forgotten(script: Script) -> Script {
    script.clean(1, 0, 4096).clean(1, 32, 8192).clean(1, SIZE_SECTOR, 512)
}

#[test]
fn a_file_is_forgotten_by_the_sync_of_its_directory() {
    let files = with_dirty_file();
    files.unlink("/f").unwrap();
    Script::new().no_name(0, 0).expect(&files);
    files.sync_dir("/").unwrap();
    forgotten(Script::new().written(0, 0, padded(&[], 512)).flushed(0)).expect(&files);
    files.sync().unwrap();
    Script::new().expect(&files);
}

#[test]
fn a_file_is_forgotten_by_the_last_close_after_the_sync() {
    let files = with_dirty_file();
    let fd = files.open("/f", OpenFlags::EXISTING).unwrap();
    let other = files.open("/f", OpenFlags::EXISTING).unwrap();
    files.unlink("/f").unwrap();
    files.sync_dir("/").unwrap();
    files.pwrite(other, 0, b"still usable").unwrap();
    files.storage().take_log();
    files.close(fd).unwrap();
    Script::new().expect(&files);
    files.close(other).unwrap();
    forgotten(Script::new()).expect(&files);
}

#[test]
fn a_close_before_the_sync_does_not_forget_a_file() {
    let files = with_dirty_file();
    let fd = files.open("/f", OpenFlags::EXISTING).unwrap();
    files.unlink("/f").unwrap();
    files.storage().take_log();
    files.close(fd).unwrap();
    Script::new().expect(&files);
    files.sync_dir("/").unwrap();
    forgotten(Script::new().written(0, 0, padded(&[], 512)).flushed(0)).expect(&files);
}

#[test]
fn a_file_with_another_name_is_not_forgotten() {
    let files = with_dirty_file();
    files.link("/f", "/g").unwrap();
    files.unlink("/f").unwrap();
    files.sync_dir("/").unwrap();
    files.storage().take_log();
    files.unlink("/g").unwrap();
    files.sync_dir("/").unwrap();
    forgotten(Script::new().no_name(0, 1).written(0, 1, padded(&[], 512)).flushed(0))
        .expect(&files);
}

#[test]
fn a_file_is_forgotten_once_all_its_directories_are_synced() {
    let files = with_dirty_file();
    files.mkdir("/d").unwrap();
    files.sync_dir("/").unwrap();
    files.rename("/f", "/d/f").unwrap();
    files.unlink("/d/f").unwrap();
    files.storage().take_log();
    files.sync_dir("/d").unwrap();
    Script::new().written(2, 0, padded(&[], 512)).flushed(2).expect(&files);
    files.sync_dir("/").unwrap();
    forgotten(Script::new().written(0, 0, padded(&[], 512)).flushed(0)).expect(&files);
}

#[test]
fn a_replaced_file_is_forgotten_by_the_sync_of_the_directory() {
    let files = with_dirty_file();
    files.open("/new", OpenFlags::CREATE).unwrap();
    files.sync_dir("/").unwrap();
    files.rename("/new", "/f").unwrap();
    files.storage().take_log();
    files.sync_dir("/").unwrap();
    let names =
        Script::new().written(0, 0, slot(FileKind::File, 2, "f")).written(0, 1, padded(&[], 512));
    forgotten(names.flushed(0)).expect(&files);
}

#[test]
fn an_fsynced_file_has_nothing_to_clean() {
    let files = fresh();
    let fd = make(&files, "/f", b"durable");
    files.fsync(fd).unwrap();
    files.close(fd).unwrap();
    files.unlink("/f").unwrap();
    files.storage().take_log();
    files.sync_dir("/").unwrap();
    Script::new().written(0, 0, padded(&[], 512)).flushed(0).expect(&files);
}

#[test]
fn a_directory_is_forgotten_with_its_removed_files() {
    let files = fresh();
    files.mkdir("/d").unwrap();
    files.mkdir("/d/e").unwrap();
    files.close(make(&files, "/d/e/f", b"deep")).unwrap();
    files.sync_dir("/").unwrap();
    files.unlink("/d/e/f").unwrap();
    files.rmdir("/d/e").unwrap();
    files.rmdir("/d").unwrap();
    files.storage().take_log();
    files.sync_dir("/").unwrap();
    Script::new()
        .written(0, 0, padded(&[], 512))
        .flushed(0)
        .clean(1, 0, 512)
        .clean(2, 0, 512)
        .clean(3, 0, 4096)
        .clean(3, SIZE_SECTOR, 512)
        .expect(&files);
}

#[test]
fn sync_forgets_files_before_it_writes_contents() {
    let files = with_dirty_file();
    files.close(make(&files, "/g", b"kept")).unwrap();
    files.unlink("/f").unwrap();
    files.storage().take_log();
    files.sync().unwrap();
    let names =
        Script::new().written(0, 0, padded(&[], 512)).written(0, 1, slot(FileKind::File, 2, "g"));
    forgotten(names.flushed(0))
        .written(2, 0, padded(b"kept", BLOCK))
        .size_written(2, 4)
        .flushed(2)
        .expect(&files);
}

#[test]
fn an_open_file_without_a_name_is_synced_like_any_other() {
    let files = with_dirty_file();
    let fd = files.open("/f", OpenFlags::EXISTING).unwrap();
    files.unlink("/f").unwrap();
    files.sync().unwrap();
    files.pwrite(fd, 0, b"x").unwrap();
    files.storage().take_log();
    files.fsync(fd).unwrap();
    Script::new().written(1, 0, padded(b"xirst", BLOCK)).flushed(1).expect(&files);
    assert_eq!(files.fstat(fd).unwrap().links, 0);
    files.close(fd).unwrap();
    Script::new().expect(&files);
}

#[test]
fn inode_numbers_are_not_reused() {
    let files = with_dirty_file();
    files.unlink("/f").unwrap();
    files.sync().unwrap();
    files.mkdir("/d").unwrap();
    assert_eq!(files.stat("/d").unwrap().inode, 2);
}
