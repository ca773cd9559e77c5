//! `docs/interfaces.md`: the JSON lines of `run` and `list`.

use std::collections::{BTreeMap, BTreeSet};

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

#[test]
fn lines_of_list_have_the_keys_of_the_page() {
    let lines = explode(["list", "--format", "jsonl"]).expect(0).json();
    let section = &PAGE[PAGE.find("\n## explode list\n").unwrap()..];
    let section = &section[..section[1..].find("\n## ").unwrap()];
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
