//! redb, run as a user does: every target complete within its bounds, with exact counts, and
//! findings on files whose syncs lie.

mod common;

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use common::{explode, explode_in, of_type};

/// Runs a target. Returns the lines of its output.
fn run(target: &str, more: &[&str], code: i32) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", target, "--format", "jsonl", "--out", "run"];
    explode_in(folder.path(), args.iter().chain(more)).expect(code).json()
}

/// Checks a complete exploration: states, crash disks, distinct disks, checks by design, and
/// crash-crash disks checked. The page has the same numbers.
fn is_clean(target: &str, exact: [u64; 5]) -> Vec<Value> {
    let lines = run(target, &["--require-complete"], 0);
    let summary = lines.last().unwrap();
    let counts = |keys: &[&str]| -> Vec<u64> {
        keys.iter().map(|key| summary[key].as_u64().unwrap()).collect()
    };
    assert_eq!(
        counts(&["findings", "broken", "left_out", "pending"]),
        [0; 4],
        "{target}: {summary}"
    );
    let keys = ["states", "crash_disks", "distinct", "by_design", "crash_crash_disks"];
    assert_eq!(counts(&keys), exact, "{target}: {summary}");
    let row: Vec<String> = exact.iter().map(u64::to_string).collect();
    let row = format!("| `{target}` | {} |", row.join(" | "));
    assert!(page("results/redb.md").contains(&row), "docs/results/redb.md does not say {row}");
    lines
}

fn page(name: &str) -> String {
    fs::read_to_string(format!("docs/{name}")).unwrap()
}

#[test]
fn redb_loses_nothing_by_default() {
    let lines = is_clean("redb", [156, 122_355, 122_036, 0, 355_674]);
    let lock = fs::read_to_string("Cargo.lock").unwrap();
    let (_, package) = lock.split_once("name = \"redb\"\nversion = \"").unwrap();
    assert_eq!(lines[0]["versions"]["redb"], package.split_once('"').unwrap().0);
}

#[test]
fn redb_with_two_syncs_a_commit_loses_nothing() {
    is_clean("redb-2pc", [31, 7262, 7194, 0, 8263]);
}

#[test]
fn redb_with_quick_repair_loses_nothing() {
    is_clean("redb-quick", [31, 50_598, 50_524, 0, 37_731]);
}

#[test]
fn redb_without_durability_loses_whole_commits_by_design() {
    let lines = is_clean("redb-none", [156, 34_317, 27_988, 21_381, 23_749]);
    let findings = of_type(&lines, "finding");
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(
            (&finding["signature"], &finding["by_design"]),
            (&"kv-commits/lost/durable".into(), &true.into())
        );
        assert!(
            finding["profile"].as_str().unwrap().contains("unless followed by a commit"),
            "{finding}"
        );
    }
}

/// Files whose syncs lie break redb's promises. The checks find that, and the findings replay.
#[test]
fn lies_of_the_files_below_redb_are_found() {
    for (target, signatures) in [
        ("redb+sync-lies", &["kv-commits/lost/durable", "kv-commits/recover-failed/intact"][..]),
        ("redb+growth-lies", &["kv-commits/recover-failed/intact"]),
    ] {
        let lines = run(target, &["--require-complete"], 1);
        let findings = of_type(&lines, "finding");
        let found: BTreeSet<&str> =
            findings.iter().map(|found| found["signature"].as_str().unwrap()).collect();
        assert_eq!(found, signatures.iter().copied().collect(), "{target}: {findings:?}");
        assert!(findings.iter().all(|found| found["replayed"] == true), "{target}: {findings:?}");
        assert_eq!(lines.last().unwrap()["broken"], 0, "{target}");
    }
}

/// A build without the feature knows these names.
#[test]
fn feature_gated_components_are_listed() {
    let lines = explode(["list", "components", "--format", "jsonl"]).expect(0).json();
    for name in explode_components::engine::HEAVY {
        assert!(lines.iter().any(|line| line["name"] == *name), "{name}");
    }
}

/// The page shows the test that runs, and the number of its lines.
#[test]
fn the_page_has_the_crash_test() {
    let test = fs::read_to_string("components/examples/redb_crash_test.rs").unwrap();
    assert!(test.lines().count() <= 25);
    assert!(page("start/your-engine.md").contains(&format!("```rust\n{test}```\n")));
}
