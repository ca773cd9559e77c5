//! Strategies: depth first covers the same, random is its seed's.

use serde_json::json;
use tempfile::tempdir;

use super::{run, summary, timeless};
use crate::common::{explode_in, of_type};

#[test]
fn depth_first_covers_what_breadth_first_does() {
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
            let keys =
                ["states", "operations", "crash_disks", "distinct", "checked", "by_design", "findings"];
            keys.map(|key| summary[key].clone())
        };
        assert_eq!(counts("dfs"), counts("exhaust"), "{args}");
    }
}

#[test]
fn random_walks_are_those_of_their_seed() {
    let folder = tempdir().unwrap();
    let walks = |seed: u32, out: &str| {
        let args = format!("fs-basic --strategy random --depth 5 --states 50 --seed {seed} --out {out}");
        let lines = run(folder.path(), 0, &args);
        let summary = lines.last().unwrap().clone();
        assert_eq!((&summary["states"], &summary["complete"]), (&json!(50), &json!(false)));
        timeless(&lines, out)
    };
    assert_eq!(walks(1, "a"), walks(1, "b"));
    let (one, two) = (walks(1, "c"), walks(2, "d"));
    assert_ne!(one.last(), two.last());
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
        let replayed = explode_in(folder.path(), ["replay", &trace, "--format", "jsonl"]).expect(1).json();
        assert_eq!(replayed[0]["verdict"], finding["verdict"]);
    }
}
