//! Logs in the format of dm-log-writes.

use tempfile::tempdir;

use crate::common::log::{crash_disks_of, full};
use crate::common::logwrites::{DISCARD, FLUSH, LogWrites, MARK};
use crate::common::{explode_within, file};

/// Checks that the message has these words. The process has 512 MiB, so it must find the damage
/// without allocating the memory that the log asks for.
#[track_caller]
fn refused(log: &[u8], words: &[&str]) {
    let folder = tempdir().unwrap();
    let path = file(folder.path(), "writes.log", log);
    let words: Vec<&str> = ["writes.log: "].iter().chain(words).copied().collect();
    let size = (1u64 << 40).to_string();
    explode_within(512, ["crash-disks", path.to_str().unwrap(), "--size", &size]).refused(&words);
}

fn log() -> LogWrites {
    LogWrites::new(512).write(0, 0, &full(4, 'A')).write(8, FLUSH, &full(1, 'B'))
}

#[test]
fn a_log_that_is_cut_off_is_refused_where_it_ends() {
    let whole = log().finish();
    assert_eq!(whole.len(), 512 + 512 + 4 * 512 + 512 + 512);
    refused(&whole[..8], &["byte 0", "ends"]);
    refused(&whole[..511], &["byte 0", "ends"]);
    refused(&whole[..512], &["byte 512", "ends"]);
    refused(&whole[..600], &["byte 512", "ends"]);
    refused(&whole[..2048], &["byte 1024", "ends", "2048 bytes", "entry 1"]);
    refused(&whole[..3072], &["byte 3072", "ends"]);
    refused(&whole[..4000], &["byte 3584", "ends", "entry 2"]);
}

#[test]
fn the_superblock_is_checked() {
    refused(&log().finish_as(2, 2, 512), &["byte 8", "version 2", "version 1"]);
    refused(&log().finish_as(1, 2, 0), &["byte 24", "sector size", "0"]);
    refused(&log().finish_as(1, 2, 511), &["byte 24", "511"]);
    refused(&log().finish_as(1, 2, 1 << 31), &["byte 24", "2147483648"]);
    refused(&log().finish_as(1, u64::MAX, 512), &["byte 4096", "ends"]);
    refused(&log().finish_as(1, 2, 4096), &["byte 4096", "ends"]);
}

#[test]
fn the_entries_are_checked() {
    let with = |fields| LogWrites::new(512).write(0, 0, &full(1, 'A')).entry(fields, &[]).finish();
    refused(&with([0, 0, 1 << 9, 0]), &["byte 1552", "entry 2", "flags 0x200"]);
    for sectors in [1 << 23, 1 << 24, 1 << 54, 1 << 55, u64::MAX] {
        refused(&with([0, sectors, 0, 0]), &["entry 2"]);
    }
    for at in [1u64 << 40, 1 << 55, u64::MAX] {
        refused(&with([at, 1, DISCARD, 0]), &["entry 2", &at.to_string()]);
    }
    refused(&with([0, 1 << 40, DISCARD, 0]), &["entry 2"]);
}

/// The name of a mark is in the mark's own sector, whatever length it claims.
#[test]
fn a_mark_with_a_wrong_name_length_ends_with_its_sector() {
    let folder = tempdir().unwrap();
    let log = LogWrites::new(512).entry([0, 0, MARK, u64::MAX], b"here").finish();
    let path = file(folder.path(), "writes.log", log);
    crash_disks_of(&path, "--size 512 --from here").expect(0);
}

#[test]
fn an_entry_beyond_the_device_is_refused_by_its_number() {
    let folder = tempdir().unwrap();
    let path = file(folder.path(), "writes.log", log().finish());
    crash_disks_of(&path, "--size 2048").refused(&["writes.log: entry 2: ", "sector 8", "--size"]);
}
