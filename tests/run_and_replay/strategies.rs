//! Strategies: depth first covers the same states, and the seed determines random walks.

use serde_json::{Value, json};
use tempfile::tempdir;

use super::{run, summary, timeless};
use crate::common::{explode_in, of_type};

#[test]
fn depth_first_covers_the_states_of_breadth_first() {
    let cases = [
        ("fs-basic --depth 2", 0),
        ("fs-basic", 0),
        ("sqlite-extra --depth 1", 0),
        ("sqlite-normal --depth 2 --limit 300 --samples 50", 0),
        ("sqlite-normal-wal --depth 2", 0),
        ("sqlite-off --depth 1", 1),
        ("sqlite-off --depth 2 --limit 500 --samples 100", 1),
        ("sqlite-off-wal --depth 3", 1),
    ];
    for (args, code) in cases {
        let counts = |strategy| {
            let summary = summary(code, &format!("{args} --strategy {strategy}"));
            let keys = [
                "states",
                "operations",
                "crash_disks",
                "distinct",
                "checked",
                "by_design",
                "findings",
            ];
            keys.map(|key| summary[key].clone())
        };
        assert_eq!(counts("dfs"), counts("exhaust"), "{args}");
    }
}

#[test]
fn the_most_different_state_first_covers_the_states_of_breadth_first() {
    for (args, code) in
        [("fs-basic --depth 2", 0), ("sqlite-normal-wal --depth 2", 0), ("sqlite-off --depth 1", 1)]
    {
        let whole = |strategy| {
            let mut summary = summary(code, &format!("{args} --strategy {strategy}"));
            summary.as_object_mut().unwrap().remove("seconds");
            summary
        };
        assert_eq!(whole("different"), whole("exhaust"), "{args}");
    }
}

#[test]
fn walks_are_those_of_their_seed() {
    ["random", "weighted", "pct:d=2,k=5"].iter().for_each(|strategy| walks_of(strategy));
}

fn walks_of(strategy: &str) {
    let folder = tempdir().unwrap();
    let walks = |seed: u32, out: &str| {
        let args = format!(
            "fs-basic --strategy {strategy} --depth 5 --states 50 --seed {seed} --out {out}"
        );
        let lines = run(folder.path(), 0, &args);
        let summary = lines.last().unwrap().clone();
        assert_eq!((&summary["states"], &summary["complete"]), (&json!(50), &json!(false)));
        timeless(&lines, out)
    };
    assert_eq!(walks(1, "a"), walks(1, "b"));
    let (one, two) = (walks(1, "c"), walks(2, "d"));
    assert_ne!(one.last(), two.last());
    assert_eq!(one[0]["options"]["strategy"], strategy);
    // Also in the middle of the walks.
    let args = format!("fs-basic --strategy {strategy} --depth 5 --states 20 --seed 1 --out e");
    run(folder.path(), 0, &args);
    let resumed = run(folder.path(), 0, "--resume e");
    assert_eq!(resumed.last().unwrap()["states"], 20);
}

/// A finding near another one replays, and its trace names the beginning of the run.
#[test]
fn a_run_begins_with_a_trace() {
    let folder = tempdir().unwrap();
    let found = run(folder.path(), 1, "sqlite-off-wal --depth 2 --out whole");
    let trace = of_type(&found, "finding").last().unwrap()["trace"].as_str().unwrap().to_owned();
    let args = format!("sqlite-off-wal --depth 2 --strategy prefix:{trace}");
    let near = run(folder.path(), 1, &format!("{args} --out near"));
    let first = |lines: &[serde_json::Value]| of_type(lines, "finding")[0]["signature"].clone();
    assert_eq!(near[0]["options"]["strategy"], format!("prefix:{trace}"));
    let last = |key: &str| of_type(&found, "finding").last().unwrap()[key].clone();
    assert_eq!(
        (first(&near), &near.last().unwrap()["complete"]),
        (last("signature"), &json!(true))
    );
    let counts = |lines: &[serde_json::Value]| {
        ["states", "crash_disks", "distinct", "checked", "findings"]
            .map(|key| lines.last().unwrap()[key].clone())
    };
    assert_eq!(counts(&near)[0], counts(&found)[0]);
    for finding in of_type(&near, "finding") {
        assert_eq!(finding["replayed"], true);
        let trace = finding["trace"].as_str().unwrap();
        explode_in(folder.path(), ["replay", trace]).expect(1);
    }
    for (args, words) in [
        ("sqlite-off --depth 2", "its stack"),
        ("sqlite-off-wal --depth 2 --seed 1", "use --seed 0"),
        ("sqlite-off-wal --depth 2 --chop 1", "run without --chop"),
        ("sqlite-off-wal --depth 2 --set sqlite.locking=exclusive", "its stack"),
    ] {
        let args = format!("run {args} --strategy prefix:{trace}");
        explode_in(folder.path(), args.split_whitespace()).refused(&[words, &trace]);
    }
    for (strategy, words) in [
        ("prefix:not-there.json", "not-there.json: No such file"),
        ("prefix:whole/run.jsonl", "not a trace"),
        ("prefix", "prefix:TRACE.json"),
        ("own:mine", "another program"),
        ("pct:d=0", "d=0"),
        ("pct:d=2,k=5", "--budget"),
    ] {
        explode_in(folder.path(), ["run", "sqlite-off-wal", "--strategy", strategy])
            .refused(&[words]);
    }
    explode_in(folder.path(), ["run", "sqlite-off-wal", "--chop", "0"])
        .refused(&["chop", "at least 1"]);
}

/// The counts of a run that the order of its units must not change.
fn unordered(summary: &Value) -> Vec<Value> {
    let keys = ["states", "operations", "choices", "crash_disks", "distinct", "left_out"];
    let nested = ["crash_crash_disks", "crash_crash_left_out", "by_design", "broken", "complete"];
    keys.iter().chain(&nested).map(|key| summary[*key].clone()).collect()
}

/// With `shuffle` each path is run twice, and the second time only the crashes during recovery
/// count. No count may show that, for any number of workers, also with samples and in a run that is
/// resumed in the middle of the second time.
#[test]
fn crashes_during_recovery_come_last_and_count_once() {
    let folder = tempdir().unwrap();
    let last = |args: &str| run(folder.path(), 0, args).last().unwrap().clone();
    for args in [
        "redb --depth 1 --crash-depth 2",
        "journal-kv --depth 2 --limit 10 --samples 3",
        "wal-kv --depth 2 --limit 4 --samples 2 --crash-depth 2",
        "sqlite-normal --depth 1",
    ] {
        let whole = last(args);
        assert_ne!(whole["crash_crash_disks"], json!(0), "{args}");
        for jobs in [1, 3] {
            let two = last(&format!("{args} --strategy shuffle --jobs {jobs}"));
            assert_eq!(unordered(&two), unordered(&whole), "{args}, {jobs} workers");
        }
    }
    let whole = last("journal-kv --depth 2 --strategy shuffle --out cut");
    let journal = std::fs::read(folder.path().join("cut/journal")).unwrap();
    for percent in [15, 50, 90] {
        let kept = &journal[..journal.len() * percent / 100];
        std::fs::write(folder.path().join("cut/journal"), kept).unwrap();
        assert_eq!(unordered(&last("--resume cut")), unordered(&whole), "{percent} percent");
    }
}

/// A run that goes deeper has the crash disks of a length first. An error that only a crash during
/// recovery shows is found after them, and its trace has both crashes.
#[test]
fn a_run_that_goes_deeper_follows_crashes_during_recovery() {
    let folder = tempdir().unwrap();
    let args = "wal-kv+recovery-not-idempotent --budget 1h --states 200 --out run";
    let lines = run(folder.path(), 1, args);
    let found = of_type(&lines, "finding");
    let trace = folder.path().join(found[0]["trace"].as_str().unwrap());
    let trace: Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    assert_eq!(trace["recovery"].as_array().unwrap().len(), 1, "{trace}");
    assert_eq!(found[0]["replayed"], true);
    let none = format!("{args}-none --crash-depth 0");
    assert_eq!(run(folder.path(), 0, &none).last().unwrap()["findings"], 0);
    // A checker that counts its workloads has the number of paths that were run twice.
    let args = "fs-workloads --depth 1 --crash-depth 1 --strategy shuffle";
    let summary = run(folder.path(), 0, args);
    let depth = &summary.last().unwrap()["depths"][0];
    assert_eq!(depth["followed"], depth["mutates"]);
}

#[test]
fn findings_of_random_walks_replay() {
    let folder = tempdir().unwrap();
    let args = "sqlite-off-wal --strategy random --depth 3 --states 6";
    let both = [1, 2].map(|n| {
        let out = format!("run-{n}");
        timeless(&run(folder.path(), 1, &format!("{args} --out {out}")), &out)
    });
    assert_eq!(both[0], both[1]);
    let findings = of_type(&both[0], "finding");
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding["replayed"], true);
        let trace = finding["trace"].as_str().unwrap().replace("OUT", "run-1");
        let replayed =
            explode_in(folder.path(), ["replay", &trace, "--format", "jsonl"]).expect(1).json();
        assert_eq!(replayed[0]["verdict"], finding["verdict"]);
    }
}
