//! Sound skipping from a user's view: every target in process has the same results with and without
//! `--no-skip`, and most targets skip more than half of their checks.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use common::{explode, explode_in, of_type};

/// The depth, the distinct checks, and the number of them that another check answers. The numbers
/// are exact, so the same checks are skipped each time.
const EQUIVALENT: [(&str, u32, [u64; 2]); 19] = [
    ("sqlite-off", 1, [9342, 7184]),
    ("sqlite-normal", 2, [16_887, 15_442]),
    ("sqlite-full", 2, [15_502, 14_399]),
    ("sqlite-extra", 2, [9535, 8492]),
    ("sqlite-off-wal", 2, [1920, 1176]),
    ("sqlite-normal-wal", 2, [5238, 2172]),
    ("sqlite-full-wal", 2, [1549, 568]),
    ("sqlite-extra-wal", 2, [1549, 568]),
    ("sqlite+fsync-lies", 2, [10_300, 9148]),
    ("sqlite+dirsync-lies", 2, [51_650, 50_833]),
    ("sqlite-wal+fsync-lies", 2, [1032, 312]),
    ("fs-basic", 3, [33, 0]),
    ("simfiles+fsync-lies", 3, [117, 28]),
    ("simfiles+dirsync-lies", 3, [84, 0]),
    ("fs-sync", 3, [10_484, 8416]),
    ("simfiles-sync+fsync-lies", 3, [11_009, 9637]),
    ("simfiles-sync+dirsync-lies", 3, [10_750, 9095]),
    ("simfiles-sync+fdatasync-forgets-growth", 3, [12_792, 10_865]),
    ("simfiles-sync+sync-forgets-subdirectories", 3, [10_998, 8853]),
];

/// The targets on disks that go bad, where nothing is skipped.
const GO_BAD: [&str; 4] = [
    "mirror+evicts",
    "mirror+resync-ignores-errors",
    "mirror+stale-wins",
    "mirror+acknowledges-first",
];

/// The results of a run that do not depend on skipping.
struct Said {
    summary: Value,
    findings: BTreeMap<String, Value>,
    run: Value,
}

fn run(target: &str, depth: &str, more: &[&str]) -> Said {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", target, "--depth", depth, "--format", "jsonl", "--out", "run"];
    let ran = explode_in(folder.path(), args.iter().chain(more));
    assert!([0, 1].contains(&ran.code), "{target}: {ran:?}");
    let lines = ran.json();
    // The last line of each finding has its count.
    let found = of_type(&lines, "finding").into_iter().map(|finding| {
        let counted = json!([
            finding["count"],
            finding["by_design"],
            finding["verdict"],
            finding["replayed"]
        ]);
        (finding["signature"].as_str().unwrap().to_owned(), counted)
    });
    Said {
        summary: lines.last().unwrap().clone(),
        findings: found.collect(),
        run: lines[0].clone(),
    }
}

/// Returns a summary without the values that skipping changes.
fn rest(said: &Said) -> Value {
    let mut summary = said.summary.clone();
    for key in ["checked", "equivalent", "crash_crash_disks", "seconds"] {
        summary.as_object_mut().unwrap().remove(key).unwrap();
    }
    summary
}

fn compare(target: &str, depth: u32) -> [u64; 2] {
    let depth = depth.to_string();
    let (some, all) = (run(target, &depth, &[]), run(target, &depth, &["--no-skip"]));
    assert_eq!((&some.run["skipping"], &some.run["not_skipping"]), (&json!(true), &Value::Null));
    assert_eq!(
        (&all.run["skipping"], &all.run["not_skipping"]),
        (&json!(false), &json!("--no-skip"))
    );
    assert_eq!(rest(&some), rest(&all), "{target}");
    assert_eq!(some.findings, all.findings, "{target}");
    let count = |said: &Said, key: &str| said.summary[key].as_u64().unwrap();
    assert_eq!(count(&some, "broken"), 0, "{target}");
    assert_eq!(
        [count(&all, "equivalent"), count(&all, "checked")],
        [0, count(&all, "distinct")],
        "{target}"
    );
    let counts = [count(&some, "distinct"), count(&some, "equivalent")];
    assert_eq!(count(&some, "checked") + counts[1], counts[0], "{target}");
    assert!(count(&some, "crash_crash_disks") <= count(&all, "crash_crash_disks"), "{target}");
    counts
}

#[test]
fn every_target_in_process_has_equal_results_without_skipping() {
    let expected: Vec<_> = EQUIVALENT.to_vec();
    let found: Vec<_> = expected
        .iter()
        .map(|(target, depth, _)| (*target, *depth, compare(target, *depth)))
        .collect();
    assert_eq!(found, expected);
    let skips_most =
        |(_, _, [distinct, equivalent]): &&(&str, u32, [u64; 2])| 2 * equivalent > *distinct;
    assert!(found.iter().filter(skips_most).count() > found.len() / 2);
}

/// The targets that the table lacks, one step deep.
#[test]
fn every_other_target_has_equal_results_without_skipping() {
    let lines = explode(["list", "targets", "--format", "jsonl"]).expect(0).json();
    let name = |line: &Value| line["name"].as_str().unwrap().to_owned();
    let is_in_process = |line: &&Value| line["in"] == "mem";
    let in_process: BTreeSet<String> = lines.iter().filter(is_in_process).map(name).collect();
    let is_of_walks = |line: &&Value| line["walks"].is_u64();
    let of_walks: BTreeSet<String> = lines.iter().filter(is_of_walks).map(name).collect();
    let listed: BTreeSet<String> = EQUIVALENT.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert!(listed.is_subset(&in_process), "{listed:?}");
    for target in in_process.difference(&listed) {
        let why = match target.as_str() {
            target if GO_BAD.contains(&target) => "blocks that may go bad",
            target if of_walks.contains(target) => "every walk of a cluster is checked",
            _ => {
                compare(target, 1);
                continue;
            }
        };
        let run = run(target, "1", &[]).run;
        let expected = (&json!(false), &json!(why));
        assert_eq!((&run["skipping"], &run["not_skipping"]), expected, "{target}");
    }
}

/// Shell commands may read anything, so their checks are not skipped.
#[test]
fn commands_are_not_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let stack = r#"
        [[component]]
        use = "folder"
        [checker]
        name = "words"
        mutate = [{ name = "add", steps = [{ sh = "echo a >> {path}/a" }] }]
        check = "true"
    "#;
    std::fs::write(folder.path().join("words.toml"), stack).unwrap();
    let lines =
        explode_in(folder.path(), ["run", "words.toml", "--format", "jsonl"]).expect(0).json();
    let why = "component 'folder' may depend on more than its disks";
    assert_eq!((&lines[0]["skipping"], &lines[0]["not_skipping"]), (&json!(false), &json!(why)));
    assert_eq!(lines.last().unwrap()["equivalent"], 0);
    let human = explode_in(folder.path(), ["run", "words.toml"]).expect(0);
    assert!(human.out.contains(&format!("\n    Skipping no check: {why}\n")), "{}", human.out);
}
