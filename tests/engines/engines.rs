//! The results of each target.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::common::{explode, explode_in, of_type};

/// A target without a seeded bug, explored completely, with its counts.
struct Explored {
    target: &'static str,
    states: u64,
    crash_disks: u64,
    distinct: u64,
    crash_crash_disks: u64,
    by_design: u64,
    /// The signatures of the findings.
    findings: &'static [&'static str],
}

const EXPLORED: [Explored; 12] = [
    clean("littlefs-consistent", [1088, 120_199, 58_805, 3893]),
    clean("littlefs-cached", [1088, 18_645, 18_333, 249]),
    clean("littlefs-sync", [1485, 1308, 832, 0]),
    clean("fatfs-flushed", [1653, 213, 81, 0]),
    clean("ekv-whole", [781, 29_108, 10_664, 0]),
    clean("sequential-storage-fetch", [156, 9525, 4605, 1]),
    Explored { by_design: 18_343, ..clean("fatfs", [198, 73_797, 42_321, 0]) },
    Explored {
        findings: &["fs-atomic/corrupt/atomic-call"],
        ..clean("littlefs", [929, 106_247, 52_048, 0])
    },
    Explored {
        findings: &["fs-atomic/corrupt/atomic-call"],
        ..clean("littlefs-cached-erase", [1007, 154_129, 19_920, 1089])
    },
    Explored { findings: &["kv-commits/mount-failed/intact"], ..clean("ekv", [5, 2524, 1228, 0]) },
    Explored {
        findings: &["kv-commits/mount-failed/intact"],
        ..clean("sequential-storage", [155, 9525, 4605, 0])
    },
    Explored {
        findings: &["kv-commits/lost/durable"],
        ..clean("sequential-storage-any", [155, 9527, 4606, 1])
    },
];

/// Returns the expectations of a clean target. Counts: states, crash disks, distinct, crash-crash
/// disks.
const fn clean(target: &'static str, counts: [u64; 4]) -> Explored {
    let [states, crash_disks, distinct, crash_crash_disks] = counts;
    Explored {
        target,
        states,
        crash_disks,
        distinct,
        crash_crash_disks,
        by_design: 0,
        findings: &[],
    }
}

fn run(target: &str, more: &[&str], code: i32) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", target, "--format", "jsonl", "--out", "run"];
    explode_in(folder.path(), args.iter().chain(more)).expect(code).json()
}

/// Returns the signatures of the findings that are not by design. Each must have been replayed.
fn findings(lines: &[Value]) -> BTreeSet<String> {
    let findings = of_type(lines, "finding");
    assert!(findings.iter().all(|finding| finding["replayed"] == true), "{findings:?}");
    let held = findings.iter().filter(|finding| finding["by_design"] == false);
    held.map(|finding| finding["signature"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_engine_has_its_counts_and_findings() {
    for expected in EXPLORED {
        let Explored {
            target,
            states,
            crash_disks,
            distinct,
            crash_crash_disks,
            by_design,
            findings: found,
        } = expected;
        let lines = run(target, &["--require-complete"], i32::from(!found.is_empty()));
        let summary = lines.last().unwrap();
        let keys = [
            "states",
            "crash_disks",
            "distinct",
            "crash_crash_disks",
            "by_design",
            "broken",
            "left_out",
        ];
        let counts: Vec<u64> = keys.iter().map(|key| summary[key].as_u64().unwrap()).collect();
        let exact = [states, crash_disks, distinct, crash_crash_disks, by_design, 0, 0];
        assert_eq!(counts, exact, "{target}: {summary}");
        assert_eq!(findings(&lines), found.iter().map(ToString::to_string).collect(), "{target}");
    }
}

/// `fs-atomic` begins on its own files, also mounted again. The known bug of littlefs, a rename that
/// hides names, then needs one call.
#[test]
fn fs_atomic_begins_on_committed_files() {
    let found = |start: &str| {
        let start = format!("fs-atomic.start={start}");
        let more = ["--depth", "2", "--require-complete", "--set", &start];
        let lines = run("littlefs", &more, i32::from(start.ends_with("committed")));
        (lines.last().unwrap()["states"].as_u64().unwrap(), findings(&lines))
    };
    assert_eq!(found("empty"), (17, BTreeSet::new()));
    let hidden = "fs-atomic/corrupt/atomic-call".to_owned();
    assert_eq!(found("committed"), (17, BTreeSet::from([hidden])));
}

/// fatfs promises nothing about synced data, so a run without findings would prove nothing.
#[test]
fn a_check_of_unpromised_behaviour_is_refused() {
    let refused = explode("run fs-sync --stack fatfs".split(' ')).expect(3);
    assert!(
        refused.err.contains("unsupported: not promised: fatfs: \"Dirty flag means"),
        "{refused:?}"
    );
}

/// Every seeded bug of these targets is found.
#[test]
fn the_canaries_are_found() {
    let canaries: [(&str, &[&str]); 5] = [
        (
            "littlefs+sync-ignored",
            &[
                "fs-atomic/corrupt/atomic-call",
                "fs-atomic/lost/durable-call",
                "fs-atomic/mount-failed/intact",
                "fs-atomic/resurrected/durable-call",
            ],
        ),
        (
            "littlefs+flush-lies",
            &[
                "fs-atomic/corrupt/atomic-call",
                "fs-atomic/corrupt/intact",
                "fs-atomic/lost/durable-call",
                "fs-atomic/mount-failed/intact",
                "fs-atomic/resurrected/durable-call",
            ],
        ),
        (
            "fatfs+flush-lies",
            &[
                "fs-sync/corrupt/synced-by-sync",
                "fs-sync/lost/synced-by-fdatasync",
                "fs-sync/lost/synced-by-fsync",
                "fs-sync/lost/synced-by-sync",
            ],
        ),
        ("ekv+flush-lies", &["kv-commits/lost/durable", "kv-commits/mount-failed/intact"]),
        ("sequential-storage+flush-lies", &["kv-commits/lost/durable"]),
    ];
    for (target, signatures) in canaries {
        let found = findings(&run(target, &[], 1));
        assert_eq!(found, signatures.iter().map(ToString::to_string).collect(), "{target}");
    }
}

/// The bugs that were found replay from their traces.
#[test]
fn the_bugs_that_were_found_replay() {
    for (bug, signature) in [
        ("littlefs-pending-rename", "fs-atomic/corrupt/atomic-call"),
        ("ekv-torn-chunk-header", "kv-commits/mount-failed/intact"),
        ("sequential-storage-list-not-repaired", "kv-commits/mount-failed/intact"),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bugs").join(bug);
        assert!(folder.join("README.md").exists(), "{bug} says nothing of itself");
        let trace = folder.join("trace.json");
        let said = explode([Path::new("replay"), &trace]).expect(1).out;
        assert!(said.contains(&format!("reproduced {signature}")), "{bug}: {said}");
    }
}

/// The page shows these results.
#[test]
fn the_page_has_the_counts() {
    let page = std::fs::read_to_string("docs/results/engines.md").unwrap();
    for Explored { target, states, crash_disks, distinct, crash_crash_disks, .. } in EXPLORED {
        let row =
            format!("| `{target}` | {states} | {crash_disks} | {distinct} | {crash_crash_disks} |");
        assert!(page.contains(&row), "docs/results/engines.md has no row {row}");
    }
}
