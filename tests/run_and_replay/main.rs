//! `explode run` and `explode replay`: findings, messages, run folders and replays.

#[path = "../common/mod.rs"]
mod common;

mod bounds;
mod chops;
mod compare;
mod edited_traces;
mod findings;
mod models;
mod strategies;
mod streams;
mod terminal;

use std::path::Path;

use serde_json::Value;

use common::explode_in;

/// Runs a target with `--format jsonl --out run` in a folder, with more arguments separated by
/// spaces. Returns the lines of its output.
#[track_caller]
fn run(folder: &Path, code: i32, args: &str) -> Vec<Value> {
    let args = format!("run {args} --format jsonl");
    explode_in(folder, args.split_whitespace()).expect(code).json()
}

/// Returns only the summary of a run in a separate folder.
#[track_caller]
fn summary(code: i32, args: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let lines = run(folder.path(), code, &format!("{args} --out run"));
    let summary = lines.last().unwrap().clone();
    assert_eq!(summary["type"], "summary");
    let count = |key: &str| summary[key].as_u64().unwrap();
    assert_eq!(
        count("distinct"),
        count("checked") + count("equivalent") + count("pending"),
        "{summary}"
    );
    summary
}

/// Returns a run's lines without the time and the path of the run folder, which differ between
/// runs.
fn timeless(lines: &[Value], out: &str) -> Vec<Value> {
    let mut lines: Vec<Value> =
        lines.iter().filter(|line| line["type"] != "progress").cloned().collect();
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        line.remove("seconds");
        for key in ["out", "trace"] {
            if let Some(Value::String(path)) = line.get_mut(key) {
                *path = path.replacen(out, "OUT", 1);
            }
        }
    }
    lines
}
