//! `--soft`: a program that dies after any of its operations, run as a user does (EX-80, EXC-10).

mod common;

use serde_json::Value;
use tempfile::tempdir;

use common::{explode, explode_in, of_type};

/// Returns the lines of `explode run --soft`.
fn run(code: i32, args: &str) -> Vec<Value> {
    let folder = tempdir().unwrap();
    let args = format!("run {args} --soft --format jsonl --out run");
    explode_in(folder.path(), args.split_whitespace()).expect(code).json()
}

fn counts(lines: &[Value], keys: &[&str]) -> Vec<u64> {
    let summary = lines.last().unwrap();
    keys.iter().map(|key| summary[key].as_u64().unwrap()).collect()
}

/// Three files are opened and written. After the first two of the three renames the files are a
/// mixture.
#[test]
fn three_renames_are_caught_by_the_prefixes_after_the_first_and_the_second() {
    let lines = run(1, "merge+three-renames --depth 1");
    assert_eq!(counts(&lines, &["crash_disks", "distinct", "checked", "left_out"]), [9, 9, 9, 0]);
    assert_eq!(lines[0]["options"]["soft"], true);
    let findings = of_type(&lines, "finding");
    let last = findings.last().unwrap();
    assert_eq!((&last["count"], &last["epoch"]), (&2.into(), &"soft".into()), "{last}");
    assert_eq!(
        (&last["signature"], &last["replayed"]),
        (&"merge-whole/corrupt/whole".into(), &true.into())
    );
    assert_eq!(counts(&lines, &["findings"]), [1]);
}

/// Four files, the manifest's rename, and three removals: 12 operations.
#[test]
fn one_rename_of_a_manifest_is_silent() {
    let lines = run(0, "merge --depth 2 --require-complete");
    assert_eq!(
        counts(&lines, &["states", "operations", "crash_disks", "distinct"]),
        [3, 2, 24, 24]
    );
    assert_eq!(counts(&lines, &["crash_crash_disks", "findings", "broken"]), [0; 3]);
}

/// The writes of SQLite survive the death of its process, whether it syncs or not.
#[test]
fn sqlite_survives_the_end_of_its_process_without_any_sync() {
    for (target, expected) in [
        ("sqlite-off", [259, 258, 3441, 3441]),
        ("sqlite-extra", [259, 258, 3656, 3656]),
        ("sqlite-off-wal", [259, 258, 1138, 1136]),
    ] {
        let lines = run(0, &format!("{target} --depth 3 --require-complete"));
        let keys = ["states", "operations", "crash_disks", "distinct"];
        assert_eq!(counts(&lines, &keys), expected, "{target}");
        assert_eq!(counts(&lines, &["by_design", "broken", "left_out"]), [0; 3], "{target}");
    }
}

#[test]
fn soft_crashes_with_a_crash_depth_are_refused() {
    let ran = explode(["run", "merge", "--crash-depth", "1", "--soft"]).expect(2);
    assert!(ran.err.contains("omit --crash-depth"), "{ran:?}");
}
