//! `docs/interfaces.md`: the JSON lines of every command that has them (of `replay`: `trace_format.rs`).

use std::collections::{BTreeMap, BTreeSet};

use explode::runtime::run::Restore;
use serde_json::Value;
use tempfile::tempdir;

use crate::common::{explode, explode_in, of_type};
use crate::{keys_of, names, run_commands, table};

const PAGE: &str = include_str!("../../docs/interfaces.md");

/// The lines of runs that have every kind of them: findings, by design too, one that does not replay, something broken, and a run
/// that takes long enough for progress.
fn lines() -> Vec<Value> {
    let folder = tempdir().unwrap();
    let run = |code: i32, args: &str| {
        explode_in(folder.path(), format!("run {args} --format jsonl").split_whitespace()).expect(code).json()
    };
    let mut lines = run(1, "sqlite-off --depth 1 --states 3 --out findings");
    lines.extend(run(0, "sqlite-normal --depth 1 --out by-design"));
    let once = folder.path().join("once");
    let check =
        format!("if test -e {{path}}/broken; then exit 7; fi; ! mkdir {} 2>/dev/null", once.display());
    let steps = ["sleep 1.2", "touch {path}/broken"];
    lines.extend(run_commands(folder.path(), "commands", &check, &steps, "").expect(4).json());
    lines
}

#[test]
fn lines_of_run_have_the_keys_of_the_page() {
    let lines = lines();
    let mut documented: BTreeMap<String, BTreeSet<String>> = table(PAGE, "| type | when | keys |")
        .iter()
        .map(|row| (names(row[0]).pop_first().unwrap(), names(row[2])))
        .collect();
    let summary = table(PAGE, "| key of the summary | what it counts |");
    documented.insert("summary".to_owned(), summary.iter().flat_map(|row| names(row[0])).collect());
    let types: BTreeSet<String> =
        lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(types, documented.keys().cloned().collect());
    for (kind, mut keys) in documented {
        keys.insert("type".to_owned());
        assert_eq!(keys, keys_of(of_type(&lines, &kind)), "{kind}");
    }
}

/// What the page has under this head.
fn section(head: &str) -> &'static str {
    let begin = PAGE.find(&format!("\n## {head}\n")).unwrap() + 1;
    &PAGE[begin..begin + PAGE[begin..].find("\n## ").unwrap()]
}

#[test]
fn lines_of_list_have_the_keys_of_the_page() {
    let lines = explode(["list", "--format", "jsonl"]).expect(0).json();
    let section = section("explode list");
    let mut types = BTreeSet::new();
    for row in table(section, "| type | keys |") {
        let (own, options) = row[1].split_once(": each with ").unwrap_or((row[1], ""));
        for kind in names(row[0]) {
            let mut keys = names(own);
            keys.insert("type".to_owned());
            let found = of_type(&lines, &kind);
            // Each line has all of them.
            assert!(found.iter().all(|line| keys == keys_of([*line])), "{kind}: {keys:?}");
            let listed = found.iter().filter_map(|line| line["options"].as_array()).flatten();
            assert_eq!(names(options), keys_of(listed), "options of a {kind}");
            types.insert(kind);
        }
    }
    assert_eq!(types, lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect());
}

/// In process nothing is restored: what a kernel's disks take is said by the type that is printed (in a guest: `tests/guest`).
#[test]
fn lines_of_bench_have_the_keys_of_the_page() {
    let mut lines = explode(["bench", "fs-sync", "--checks", "2", "--format", "jsonl"]).expect(0).json();
    let mut restore = serde_json::to_value(Restore { mib: 16, blocks: 20, restore_us: 1.5 }).unwrap();
    restore["type"] = "restore".into();
    lines.push(restore);
    let rows = table(section("explode bench"), "| type | keys |");
    assert_eq!(rows.len(), lines.len());
    for row in rows {
        // What is in brackets says more of a key.
        let outside: String =
            row[1].split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
        let mut keys = names(&outside);
        keys.insert("type".to_owned());
        assert_eq!(keys, keys_of(of_type(&lines, &names(row[0]).pop_first().unwrap())), "{}", row[0]);
    }
}

#[test]
fn lines_of_doctor_are_as_the_page_has_them() {
    let ran = explode(["doctor", "--format", "jsonl"]);
    assert!([0, 3].contains(&ran.code), "{ran:?}");
    let section = section("explode vm, explode doctor");
    let example = section.lines().find(|line| line.starts_with("    {")).unwrap();
    let example: Value = serde_json::from_str(example).unwrap();
    let (begin, end) = (section.find("`state` is ").unwrap(), section.find("`remedy` says").unwrap());
    let mut states = names(&section[begin + "`state`".len()..end]);
    // An option, which says when something is needed.
    states.remove("--in here");
    assert_eq!(states, BTreeSet::from(["ok", "MISSING", "slow", "later", "not needed"].map(str::to_owned)));
    for line in ran.json() {
        assert_eq!((&line["type"], keys_of([&line])), (&example["type"], keys_of([&example])));
        assert!(states.contains(line["state"].as_str().unwrap()), "{line}");
        assert!(line["remedy"] != "" || line["state"] != "MISSING", "{line}");
    }
}

#[test]
fn lines_of_crash_disks_have_the_keys_of_the_page() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/explode-runtime/tests/golden/paper-versions.jsonl");
    let lines = explode(["crash-disks", log, "--size", "4096", "--format", "jsonl"]).expect(0).json();
    let section = section("explode crash-disks");
    for kind in ["disk", "summary"] {
        let begin = format!("    {{\"type\":\"{kind}\"");
        let example = section.lines().find(|line| line.starts_with(&begin)).unwrap();
        let keys = example
            .split('"')
            .zip(example.split('"').skip(1))
            .filter_map(|(key, rest)| rest.starts_with(':').then_some(key));
        let keys: BTreeSet<String> = keys.map(str::to_owned).collect();
        assert_eq!(keys, keys_of(of_type(&lines, kind)), "{kind}");
    }
}
