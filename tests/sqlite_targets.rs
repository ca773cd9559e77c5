//! Every SQLite target: complete, with exact counts and the verdicts that SQLite's documentation
//! implies (`components/src/db/sqlite/profile.rs` quotes it). Three of them, with a rollback
//! journal and with a WAL, run within the default bounds, four steps deep. The others differ from
//! one of these only in the times of their syncs and run three steps deep.

mod common;

use std::collections::BTreeSet;

use serde_json::Value;

use common::{explode_in, of_type};

/// The depth of the targets.
const DEPTH: u32 = 4;

/// The expected results of a complete exploration.
struct Expected {
    depth: u32,
    crash_disks: u64,
    distinct: u64,
    /// The number of checks by design.
    by_design: u64,
    /// The signatures of the checks by design.
    excluded: &'static [&'static str],
}

const LAST_COMMIT: &str = "sqlite-transactions/lost/last-commit";
const DURABLE: &str = "sqlite-transactions/lost/durable";

fn run(target: &str, more: &[&str], code: i32) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", target, "--format", "jsonl", "--out", "run"];
    explode_in(folder.path(), args.iter().chain(more)).expect(code).json()
}

/// Returns the values of one member of every finding.
fn of_findings(lines: &[Value], key: &str) -> BTreeSet<String> {
    of_type(lines, "finding")
        .iter()
        .map(|finding| finding[key].as_str().unwrap().to_owned())
        .collect()
}

fn explore_completely(target: &str, expected: &Expected) {
    let depth = expected.depth.to_string();
    let less = if expected.depth < DEPTH { &["--depth", &depth][..] } else { &[] };
    let lines = run(target, &[&["--require-complete"], less].concat(), 0);
    let summary = lines.last().unwrap();
    assert_eq!(lines[0]["options"]["depth"], expected.depth);
    let counts = |keys: &[&str]| -> Vec<u64> {
        keys.iter().map(|key| summary[key].as_u64().unwrap()).collect()
    };
    assert_eq!(
        counts(&["findings", "broken", "left_out", "pending"]),
        [0; 4],
        "{target}: {summary}"
    );
    // Six alternatives in each state: 1 + 6 + 36 + 216, and 1296 four steps deep.
    let states: u64 = (0..=expected.depth).map(|depth| 6_u64.pow(depth)).sum();
    let ways = [states, states - 1, states - 1];
    assert_eq!(counts(&["states", "operations", "choices"]), ways, "{target}: {summary}");
    let exact = [expected.crash_disks, expected.distinct, expected.by_design];
    assert_eq!(counts(&["crash_disks", "distinct", "by_design"]), exact, "{target}: {summary}");
    let excluded: BTreeSet<String> = expected.excluded.iter().map(ToString::to_string).collect();
    assert_eq!(of_findings(&lines, "signature"), excluded, "{target}");
    for finding in of_type(&lines, "finding") {
        assert_eq!(
            (&finding["by_design"], &finding["replayed"]),
            (&true.into(), &true.into()),
            "{finding}"
        );
        assert!(
            finding["profile"].as_str().unwrap().contains("https://www.sqlite.org/"),
            "{finding}"
        );
    }
}

#[test]
fn normal_loses_at_most_the_last_commit() {
    let excluded = &[LAST_COMMIT];
    let expected =
        Expected { depth: 3, crash_disks: 139_933, distinct: 125_119, by_design: 41_137, excluded };
    explore_completely("sqlite-normal", &expected);
}

#[test]
fn full_loses_at_most_the_last_commit() {
    let excluded = &[LAST_COMMIT];
    let expected = Expected {
        depth: DEPTH,
        crash_disks: 870_666,
        distinct: 740_671,
        by_design: 245_114,
        excluded,
    };
    explore_completely("sqlite-full", &expected);
}

#[test]
fn extra_loses_nothing() {
    let expected = Expected {
        depth: DEPTH,
        crash_disks: 514_041,
        distinct: 473_891,
        by_design: 0,
        excluded: &[],
    };
    explore_completely("sqlite-extra", &expected);
}

#[test]
fn normal_with_a_wal_loses_commits_and_stays_consistent() {
    let excluded = &[DURABLE, LAST_COMMIT];
    let expected =
        Expected { depth: 3, crash_disks: 29_687, distinct: 41_444, by_design: 32_629, excluded };
    explore_completely("sqlite-normal-wal", &expected);
}

#[test]
fn full_and_extra_with_a_wal_lose_nothing_and_are_the_same() {
    let expected = Expected {
        depth: DEPTH,
        crash_disks: 46_016,
        distinct: 46_673,
        by_design: 0,
        excluded: &[],
    };
    explore_completely("sqlite-full-wal", &expected);
    for target in ["sqlite-full-wal", "sqlite-extra-wal"] {
        let expected =
            Expected { depth: 3, crash_disks: 9_178, distinct: 9_312, by_design: 0, excluded: &[] };
        explore_completely(target, &expected);
    }
}

/// Without syncs commits are lost, and with a rollback journal the database breaks. Every finding
/// is replayed.
#[test]
fn off_loses_and_breaks() {
    for (target, verdicts) in
        [("sqlite-off", &["corrupt", "lost", "recover-failed"][..]), ("sqlite-off-wal", &["lost"])]
    {
        let lines = run(target, &["--depth", "2"], 1);
        let verdicts: BTreeSet<String> = verdicts.iter().map(ToString::to_string).collect();
        assert_eq!(of_findings(&lines, "verdict"), verdicts, "{target}");
        for finding in of_type(&lines, "finding") {
            assert_eq!(
                (&finding["by_design"], &finding["replayed"]),
                (&false.into(), &true.into()),
                "{finding}"
            );
        }
    }
}

/// Blocks of one sector tear pieces that the targets' blocks keep together. Then NORMAL can break a
/// database with a rollback journal, as its documentation warns ("a very small chance"). No other
/// promise is broken.
#[test]
fn finer_blocks_show_the_losses_of_normal() {
    let fine = ["--block", "512", "--depth", "1"];
    let lines = run("sqlite-normal", &fine, 0);
    let verdicts = of_findings(&lines, "verdict");
    assert_eq!(verdicts, ["corrupt", "lost", "recover-failed"].map(str::to_owned).into());
    assert!(of_type(&lines, "finding").iter().all(|finding| finding["by_design"] == true));
    for target in ["sqlite-full", "sqlite-extra", "sqlite-normal-wal", "sqlite-full-wal"] {
        let lines = run(target, &fine, 0);
        let lost = of_findings(&lines, "verdict").into_iter().all(|verdict| verdict == "lost");
        assert!(lost, "{target}: {lines:?}");
    }
}
