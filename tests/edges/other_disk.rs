//! A trace with the present log and another crash disk: `replay`, `show` and `minimise` agree on
//! it.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::{explode_in, file, files};

/// Returns the exit codes of `replay` and `minimise`, and whether `replay` and `show` reproduce the
/// error.
fn reported(folder: &Path, trace: &Value) -> ([i32; 2], [bool; 2]) {
    file(folder, "trace.json", trace.to_string());
    let replayed = explode_in(folder, ["replay", "trace.json", "--format", "jsonl"]);
    let minimised =
        explode_in(folder, ["minimise", "trace.json", "--out", "min.json", "--tests", "60"]);
    let shown =
        explode_in(folder, ["show", "trace.json", "--format", "jsonl", "--tests", "60"]).expect(0);
    let reproduced = |line: &Value| line["reproduced"].as_bool().unwrap();
    let says = [reproduced(&replayed.json()[0]), reproduced(&shown.json()[0])];
    ([replayed.code, minimised.code], says)
}

#[test]
fn a_disk_is_searched_for_only_if_the_log_differs() {
    let folder = tempdir().unwrap();
    explode_in(folder.path(), ["run", "sqlite-off", "--depth", "1", "--out", "run"]).expect(1);
    let name = files(&folder.path().join("run/traces")).remove(0);
    let text = std::fs::read(folder.path().join("run/traces").join(name)).unwrap();
    let trace: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(reported(folder.path(), &trace), ([1, 0], [true; 2]));
    let mut other = trace.clone();
    other["crash_disk"]["id"] = json!("0123456789abcdef0123456789abcdef");
    assert_eq!(reported(folder.path(), &other), ([5, 5], [false; 2]));
    // With another log as well: the disks of the moment are searched.
    other["log"] = json!("0123456789abcdef0123456789abcdef");
    assert_eq!(reported(folder.path(), &other), ([1, 0], [true; 2]));
}
