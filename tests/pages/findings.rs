//! `docs/results/findings.md` equals the output of `examples/findings.rs` for `bugs/`, and the
//! READMEs there agree with their traces.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::maker;

fn bugs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bugs")
}

#[test]
fn the_page_is_up_to_date() {
    let page = maker::page(&bugs()).unwrap();
    let kept = include_str!("../../docs/results/findings.md");
    assert!(
        page == kept,
        "docs/results/findings.md is not what bugs/ has; make it anew: cargo run --example findings"
    );
}

/// The README has the verdict and the message of the main trace, and a word about each of the
/// others.
#[test]
fn each_readme_is_about_the_traces_beside_it() {
    let found = maker::bugs(&bugs()).unwrap();
    assert!(found.len() >= 15, "{} folders", found.len());
    let mut titles = BTreeSet::new();
    for bug in &found {
        let folder = bugs().join(&bug.folder);
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        let (verdict, message) = bug.expected().unwrap();
        let trace = fs::read_to_string(folder.join("trace.json")).unwrap();
        let trace: Value = serde_json::from_str(&trace).unwrap();
        assert_eq!(trace["verdict"], verdict, "{}", bug.folder);
        let said = trace["message"].as_str().unwrap();
        assert!(
            said.contains(message),
            "{}: the README has '{message}', the trace '{said}'",
            bug.folder
        );
        assert!(bug.cells[4].contains(&format!("`explode replay bugs/{}/trace.json`", bug.folder)));
        assert!(titles.insert(&bug.title), "{} is there twice", bug.title);
        for entry in fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let named = name == "README.md" || readme.contains(&name);
            assert!(named, "bugs/{}/README.md does not say what {name} is", bug.folder);
        }
    }
}
