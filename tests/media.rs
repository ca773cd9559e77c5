//! `faults`: blocks of files that go bad, run as a user does (EX-112, EX-118).

mod common;

use std::collections::BTreeSet;

use serde_json::Value;
use tempfile::tempdir;

use common::{explode, explode_in, of_type};

/// Returns the lines of a run of two mutates with such an option.
fn run(code: i32, target: &str, faults: &str) -> Vec<Value> {
    let folder = tempdir().unwrap();
    let args = format!(
        "run {target} --set {faults} --depth 2 --require-complete --format jsonl --out run"
    );
    explode_in(folder.path(), args.split_whitespace()).expect(code).json()
}

fn counts(lines: &[Value]) -> Vec<u64> {
    let keys = ["states", "operations", "choices", "findings", "broken"];
    keys.iter().map(|key| lines.last().unwrap()[key].as_u64().unwrap()).collect()
}

/// A database whose file cannot be read returns errors, and loses no readable data. All its pages
/// are in one block. A WAL adds a second block.
#[test]
fn sqlite_reports_unreadable_blocks() {
    assert_eq!(counts(&run(0, "sqlite-extra", "simfiles.faults=unreadable")), [43, 84, 168, 0, 0]);
    assert_eq!(
        counts(&run(0, "sqlite-full-wal", "simfiles.faults=unreadable")),
        [107, 144, 252, 0, 0]
    );
}

/// SQLite has no checksums except those of the WAL. The WAL ends at the first wrong checksum, and
/// later commits are lost.
#[test]
fn garbage_in_a_sqlite_database_is_found() {
    let lines = run(1, "sqlite-full-wal", "simfiles.faults=garbage");
    assert_eq!(counts(&lines)[3..], [5, 0]);
    let findings = of_type(&lines, "finding");
    assert!(findings.iter().all(|finding| finding["replayed"] == true));
    let verdicts: BTreeSet<&str> =
        findings.iter().map(|finding| finding["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["corrupt", "lost", "recover-failed"].into());
}

/// On a disk: an unreadable block is an error of the call and of the mount. Garbage breaks nothing.
#[test]
fn small_systems_on_a_bad_disk_continue_or_report_errors() {
    for (target, code, expected) in [
        ("toyfs", 1, [2126, 2799, 4848, 14, 0]),
        ("toyfs-versions", 1, [2047, 2795, 4840, 12, 0]),
        ("toyfs-in-place", 1, [590, 1197, 2286, 14, 0]),
        ("journal-kv", 1, [148, 235, 445, 2, 0]),
    ] {
        assert_eq!(counts(&run(code, target, "ramdisk.faults=both")), expected, "{target}");
    }
    assert_eq!(counts(&run(0, "journal-kv", "ramdisk.faults=unreadable")), [146, 145, 265, 0, 0]);
}

/// A mount after a chop that reads a bad block and fails is no error either.
#[test]
fn a_bad_disk_may_not_be_mounted_again() {
    let chopped = "ramdisk.faults=both --set fs-sync.start=empty --chop 1";
    assert_eq!(counts(&run(1, "toyfs", chopped)), [1782, 2326, 4083, 13, 0]);
}

#[test]
fn wrong_faults_are_refused() {
    for (set, words) in [
        ("simfiles.faults=unreadible", "did you mean 'unreadable'?"),
        ("simfiles.most_faults=many", "needs a number"),
    ] {
        let ran = explode(["run", "sqlite-full", "--set", set]).expect(2);
        assert!(ran.err.contains(words), "{ran:?}");
    }
}
