//! The seeded bugs of `docs/seeded-bugs.md`: each is found within its target's bounds and replays, is missed where the feature
//! that finds it is switched off, and the system without it is explored completely, in silence.

mod common;

use std::collections::BTreeSet;

use serde_json::Value;

use common::{explode, explode_in, of_type};

/// The systems; each bug is a target `<system>+<bug>`.
const SYSTEMS: [&str; 7] =
    ["wal-kv", "rename-kv", "journal-kv", "toyfs", "mirror", "parity", "parity-journal"];

fn run(target: &str, more: &[&str], code: i32) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", target, "--format", "jsonl", "--out", "run"];
    explode_in(folder.path(), args.iter().chain(more)).expect(code).json()
}

/// The seeded targets of [`SYSTEMS`], with the verdict that each must show.
fn seeded() -> Vec<(String, String)> {
    let listed = explode(["list", "targets", "--format", "jsonl"]).expect(0).json();
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let targets = listed.iter().filter(|line| line["seeded"] == true);
    let targets = targets.map(|line| (text(line, "name"), text(line, "expect")));
    targets.filter(|(name, _)| name.split_once('+').is_some_and(|(of, _)| SYSTEMS.contains(&of))).collect()
}

#[test]
fn each_bug_is_found_and_replays() {
    let seeded = seeded();
    assert_eq!(seeded.len(), 37);
    for (target, verdict) in seeded {
        let lines = run(&target, &[], 1);
        let findings = of_type(&lines, "finding");
        let verdicts: BTreeSet<&str> =
            findings.iter().map(|finding| finding["verdict"].as_str().unwrap()).collect();
        assert!(verdicts.contains(verdict.as_str()), "{target}: {verdicts:?}");
        assert!(findings.iter().all(|finding| finding["replayed"] == true), "{target}: {findings:?}");
        let summary = lines.last().unwrap();
        assert_eq!((&summary["broken"], &summary["left_out"]), (&0.into(), &0.into()), "{target}: {summary}");
    }
}

/// What a complete exploration of a system without a bug comes to.
fn is_silent(target: &str, states: u64, crash_disks: u64, distinct: u64, crash_crash_disks: u64) {
    let summary = run(target, &["--require-complete"], 0).pop().unwrap();
    let counts =
        |keys: &[&str]| -> Vec<u64> { keys.iter().map(|key| summary[key].as_u64().unwrap()).collect() };
    assert_eq!(counts(&["findings", "by_design", "broken", "left_out", "pending"]), [0; 5], "{summary}");
    let exact = [states, states - 1, crash_disks, distinct, crash_crash_disks];
    let keys = ["states", "operations", "crash_disks", "distinct", "crash_crash_disks"];
    assert_eq!(counts(&keys), exact, "{summary}");
}

/// Five ways to go on from each state, five steps deep.
const STATES: u64 = 3906;

#[test]
fn the_file_system_is_silent() {
    is_silent("toyfs", 1165, 1571, 1072, 813);
}

#[test]
fn the_store_with_a_log_is_silent() {
    is_silent("wal-kv", STATES, 121_235, 95_558, 115_026);
}

#[test]
fn the_store_that_renames_is_silent() {
    is_silent("rename-kv", STATES, 116_994, 65_792, 0);
}

#[test]
fn the_store_with_a_journal_is_silent() {
    is_silent("journal-kv", STATES, 38_070, 24_985, 9003);
}

#[test]
fn the_disks_that_hold_the_same_are_silent() {
    is_silent("mirror", 2729, 74_634, 90_392, 75_788);
}

#[test]
fn the_disks_with_parity_are_silent() {
    is_silent("parity", 1021, 17_979, 20_820, 46_470);
    is_silent("parity-journal", 1021, 23_970, 16_056, 25_920);
}

/// Each of these bugs takes one feature to be found: without it the same exploration, complete, is silent.
#[test]
fn without_the_feature_that_finds_it_a_bug_is_missed() {
    let sound_disks = ["--set", "d0.faults=none", "--set", "d1.faults=none"];
    let without: [(&str, &[&str]); 21] = [
        ("toyfs+no-preflush", &["--completion", "durable"]),
        ("toyfs+no-revoke", &["--depth", "3"]),
        ("wal-kv+recovery-not-idempotent", &["--crash-depth", "0"]),
        ("journal-kv+recovery-not-idempotent", &["--crash-depth", "0"]),
        ("journal-kv+torn-header", &["--atom", "request"]),
        ("journal-kv+no-preflush", &["--completion", "durable"]),
        ("journal-kv+no-fua", &["--completion", "durable"]),
        ("journal-kv+no-wait", &["--completion", "durable"]),
        ("journal-kv+checkpoint-no-flush", &["--completion", "durable"]),
        ("wal-kv+log-reused", &["--depth", "1"]),
        ("mirror+resync-clears-first", &["--crash-depth", "0"]),
        ("mirror+intent-not-durable", &["--completion", "durable"]),
        ("mirror+clears-before-flush", &["--completion", "durable"]),
        ("mirror+flushes-one-disk", &["--completion", "durable"]),
        ("mirror+evicts", &sound_disks),
        ("mirror+resync-ignores-errors", &sound_disks),
        ("parity+resync-clears-first", &["--crash-depth", "0"]),
        ("parity+intent-not-durable", &["--completion", "durable"]),
        ("parity+clears-before-flush", &["--completion", "durable"]),
        ("parity+flushes-data-only", &["--completion", "durable"]),
        ("parity-journal+torn-record", &["--atom", "request"]),
    ];
    for (target, off) in without {
        let options = [off, &["--require-complete"]].concat();
        let summary = run(target, &options, 0).pop().unwrap();
        assert_eq!(summary["findings"], 0, "{target} {off:?}: {summary}");
    }
}

/// The page names every bug.
#[test]
fn the_page_names_each_bug() {
    let page = std::fs::read_to_string("docs/seeded-bugs.md").unwrap();
    for (target, verdict) in seeded() {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{target}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/seeded-bugs.md has no row for {target}"));
        assert!(row.contains(&format!("| {verdict} |")), "the row of {target} does not say {verdict}: {row}");
    }
}
