//! `--chop`: within its bounds a run with chops has the results of one without, except for losses
//! by design.

use serde_json::{Value, json};
use tempfile::tempdir;

use super::{run, summary};
use crate::common::{explode_in, of_type};

/// SQLite with syncs is also clean with chops. If it may lose the last commits by design, a chop
/// makes the earlier ones durable. With a chop after each step only the last commit is lost.
#[test]
fn sqlite_loses_nothing_across_a_chop() {
    for target in ["sqlite-extra", "sqlite-extra-wal", "sqlite-full-wal"] {
        let summary = summary(0, &format!("{target} --depth 3 --chop 1 --limit 300 --samples 50"));
        let keys = ["states", "operations", "broken", "findings", "pending"];
        assert_eq!(
            json!(keys.map(|key| summary[key].clone())),
            json!([259, 258, 0, 0, 0]),
            "{target}"
        );
    }
    let lost = |args: &str| -> Vec<String> {
        let folder = tempdir().unwrap();
        let lines = run(folder.path(), 0, &format!("sqlite-normal-wal --depth 2 {args} --out run"));
        let mut signatures: Vec<String> = of_type(&lines, "finding")
            .iter()
            .map(|finding| finding["signature"].as_str().unwrap().to_owned())
            .collect();
        signatures.sort();
        signatures.dedup();
        signatures
    };
    assert_eq!(lost("--chop 1"), ["sqlite-transactions/lost/last-commit"]);
    assert_eq!(
        lost(""),
        ["sqlite-transactions/lost/durable", "sqlite-transactions/lost/last-commit"]
    );
}

/// Without a worker's memory of chopped states (`--events`) every mutate is repeated. The counts
/// and findings are equal.
#[test]
fn a_state_restored_from_a_chop_equals_the_repeated_path() {
    let folder = tempdir().unwrap();
    let lines = |args: &str, out: &str| {
        let args = format!("simfiles+fsync-lies --depth 3 --chop 2 {args} --out {out}");
        super::timeless(&run(folder.path(), 1, &args), out)
    };
    let with = lines("", "with");
    assert_eq!(with, lines("--events events.jsonl", "without"));
    let Value::Object(options) = &with[0]["options"] else { panic!("{}", with[0]) };
    assert_eq!(options["chop"], 2);
    // The events of a unit with a chop are a complete log.
    let events = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    let last = events.rfind("{\"e\":\"mark\",\"name\":\"unit").unwrap();
    std::fs::write(folder.path().join("last.jsonl"), &events[last..]).unwrap();
    explode_in(
        folder.path(),
        [
            "crash-disks",
            "last.jsonl",
            "--size",
            "1152921504606846976",
            "--samples",
            "2",
            "--limit",
            "2",
        ],
    )
    .expect(0);
}
