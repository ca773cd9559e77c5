//! `explode compare`: a layer that passes data on changes nothing, and a layer with a bug adds its
//! findings.

use std::path::Path;

use serde_json::json;
use tempfile::tempdir;

use crate::common::{Ran, explode_in, shell};

fn compare(folder: &Path, arguments: &str) -> Ran {
    explode_in(folder, format!("compare {arguments}").split_whitespace())
}

#[test]
fn a_mirror_changes_nothing() {
    let folder = tempdir().unwrap();
    let target = "journal-kv-mirror --depth 1 --without mirror";
    let ran = compare(folder.path(), target).expect(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    let [with, without, equal] = lines[..] else { panic!("{}", ran.out) };
    let counts = "mirror  6 states, 5 operations, 5 choices, 0 findings; ";
    assert!(with.starts_with(&format!("        With {counts}")), "{with}");
    assert!(without.starts_with(&format!("     Without {counts}")), "{without}");
    assert_eq!(equal, "       Equal states, operations, choices and findings");

    let ran = compare(folder.path(), &format!("{target} --format jsonl")).expect(0);
    let [result] = &ran.json()[..] else { panic!("{}", ran.out) };
    assert_eq!((&result["type"], &result["layer"]), (&json!("comparison"), &json!("mirror")));
    assert_eq!(result["with"]["summary"]["states"], result["without"]["summary"]["states"]);
    assert_ne!(
        result["with"]["summary"]["crash_disks"],
        result["without"]["summary"]["crash_disks"]
    );
}

/// The last line replays a finding that the layer adds.
#[test]
fn a_mirror_that_flushes_one_disk_adds_findings() {
    let folder = tempdir().unwrap();
    let target = "journal-kv-mirror --depth 1 --crash-depth 0 --without mirror";
    let bug = "--set mirror.bug=flushes-one-disk";
    let ran = compare(folder.path(), &format!("{target} {bug}")).expect(1);
    assert!(ran.out.contains("       Added kv-commits/lost/durable: "), "{}", ran.out);
    assert!(ran.out.contains("   Different states: "), "{}", ran.out);
    let last = ran.out.lines().last().unwrap();
    let (_, command) = last.split_once("replay    ").unwrap();
    shell(folder.path(), command).expect(1);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = tempdir().unwrap();
    let refused = |arguments: &str, words: &[&str]| {
        compare(folder.path(), &format!("journal-kv-mirror {arguments}")).refused(words);
    };
    refused("--without miror", &["unknown layer 'miror'", "did you mean 'mirror'?"]);
    refused("--without d0", &["'d0' is at the bottom of the stack", "name a layer above it"]);
    refused("--without mirror --out x", &["--out is for a single run"]);
    refused("--without mirror --set d0.faults=stale", &["d0: 'faults' lets the disk fail"]);
    refused("", &["--without <LAYER>"]);
}
