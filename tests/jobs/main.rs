//! `--jobs`: runs with more workers have the same results.

#[path = "../common/mod.rs"]
mod common;

mod accidents;
mod files;
mod guests;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use common::{Ran, explode, explode_in, files};

/// The results of a run, without progress, times and effort.
#[derive(Clone, Debug, PartialEq)]
struct Left {
    /// The lines of its output.
    lines: Vec<Value>,
    traces: BTreeMap<String, Vec<u8>>,
}

fn run(folder: &Path, args: &str, jobs: u32, code: i32) -> Left {
    let jobs = jobs.to_string();
    let args = ["run"].into_iter().chain(args.split_whitespace());
    let args = args.chain(["--format", "jsonl", "--jobs", &jobs]);
    left(folder, &explode_in(folder, args).expect(code))
}

/// Returns the results of a run with this output.
fn left(folder: &Path, ran: &Ran) -> Left {
    let mut lines = ran.json();
    lines.retain(|line| line["type"] != "progress");
    lines.iter_mut().filter(|line| line["type"] == "summary").for_each(remove_effort);
    let traces = folder.join("run/traces");
    let read = |name: String| {
        let text = std::fs::read(traces.join(&name)).unwrap();
        (name, text)
    };
    let traces = files(&traces).into_iter().map(read).collect();
    Left { lines, traces }
}

/// Removes time and effort from a summary. The checks that a worker skips depend on those that it
/// has made before. Their total number does not.
fn remove_effort(summary: &mut Value) {
    let count = |key: &str| summary[key].as_u64().unwrap();
    assert_eq!(count("distinct"), count("checked") + count("equivalent") + count("pending"));
    let summary = summary.as_object_mut().unwrap();
    ["seconds", "checked", "equivalent"].iter().for_each(|key| _ = summary.remove(*key));
}

/// Checks that runs with 1, 2, 3 and 8 jobs have equal results.
fn same(args: &str, code: i32) {
    let runs = [1, 2, 3, 8].map(|jobs| {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), &format!("{args} --out run"), jobs, code)
    });
    assert_eq!(runs[0], runs[1], "{args}: 1 and 2 jobs");
    assert_eq!(runs[0], runs[2], "{args}: 1 and 3 jobs");
    assert_eq!(runs[0], runs[3], "{args}: 1 and 8 jobs");
}

#[test]
fn sqlite_has_equal_results() {
    same("sqlite-extra --depth 2 --require-complete", 0);
    same("sqlite-full --depth 2 --require-complete", 0);
    same("sqlite-normal-wal --depth 2 --require-complete", 0);
}

#[test]
fn every_check_is_made() {
    same("sqlite-extra --depth 2 --no-skip", 0);
    same("sqlite-full-wal --depth 2 --no-skip --crash-depth 2", 0);
    same("sqlite-off --depth 2 --limit 500 --samples 100 --no-skip", 1);
}

/// Each worker restores states from its own chops.
#[test]
fn chops_have_equal_results() {
    same("sqlite-full-wal --depth 3 --chop 1", 0);
    same("sqlite-off-wal --depth 3 --chop 2 --strategy dfs", 1);
    same("fs-basic --states 100 --chop 1 --no-skip", 0);
}

#[test]
fn other_strategies_and_kinds_of_crashes_have_equal_results() {
    same("fs-basic --strategy weighted --seed 3 --states 100", 0);
    same("fs-basic --strategy different --states 100", 0);
    same("sqlite-normal-wal --depth 3 --soft", 0);
}

/// With findings, by design and not, all replayed.
#[test]
fn findings_are_the_same() {
    same("sqlite-off --depth 2 --limit 500 --samples 100", 1);
    same("sqlite-off-wal --depth 3 --strategy dfs", 1);
    same("sqlite-normal --block 512 --depth 1 --limit 200 --samples 50", 0);
}

#[test]
fn bounds_have_equal_results() {
    same("fs-basic --states 100", 0);
    same("fs-basic --states 100 --strategy dfs", 0);
    same("sqlite-full-wal --depth 3 --states 20 --crash-depth 2", 0);
    same("fs-basic --strategy random --seed 7 --states 200", 0);
}

/// Many walks of a cluster are one unit.
#[test]
fn clusters_have_equal_results() {
    same("paxos+last-promise --walks 2000", 1);
    same("paxos --walks 500 --strategy pct:d=3,k=60 --seed 5", 0);
    same("paxos --depth 5 --strategy exhaust", 0);
}

/// A run that was interrupted somewhere is resumed with other numbers of workers.
#[test]
fn a_run_resumes_with_any_number_of_workers() {
    resumes("sqlite-off-wal --depth 3");
    resumes("paxos+last-promise --walks 2000");
}

fn resumes(args: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let whole = run(path, &format!("{args} --out run"), 1, 1);
    let journal = std::fs::read(path.join("run/journal")).unwrap();
    for (jobs, fifths) in [(1, 4), (2, 1), (3, 3)] {
        std::fs::write(path.join("run/journal"), &journal[..journal.len() * fifths / 5]).unwrap();
        let resumed = run(path, "--resume run", jobs, 1);
        resumed.goes_on(&whole, &format!("{args}: {jobs} jobs from {fifths} fifths on"));
    }
}

impl Left {
    /// Checks that the resumed run has reached the end of the whole run.
    #[track_caller]
    fn goes_on(&self, whole: &Left, how: &str) {
        assert_eq!(self.lines.last(), whole.lines.last(), "{how}");
        assert_eq!(self.traces, whole.traces, "{how}");
    }
}

#[test]
fn this_machine_serves_one_worker() {
    explode(["run", "fs-sync-ext2", "--in", "here", "--jobs", "2"]).refused(&[
        "--jobs 2",
        "--in here",
        "a kernel serves one worker",
        "--in vm",
    ]);
    for jobs in ["0", "65", "two"] {
        explode(["run", "fs-basic", "--jobs", jobs]).refused(&["--jobs"]);
    }
}
