//! Jobs as files: `explode run --plan`, `explode work`, `explode merge`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use explode_runtime::choose::Draws;
use serde_json::Value;
use tempfile::tempdir;

use crate::common::{Ran, explode_in, files, program};
use crate::remove_effort;

/// The results of a run: its summary without effort, the count of each finding, and its traces.
#[derive(Debug, PartialEq)]
pub struct End {
    summary: Value,
    findings: BTreeMap<String, Value>,
    traces: BTreeMap<String, Vec<u8>>,
}

/// Returns the results in a run folder, from its last lines.
pub fn end(run: &Path) -> End {
    let text = fs::read_to_string(run.join("run.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut summary = lines.last().unwrap().clone();
    assert_eq!(summary["type"], "summary");
    remove_effort(&mut summary);
    let found = lines.iter().filter(|line| line["type"] == "finding");
    let findings = found.map(|line| (line["id"].to_string(), line["count"].clone())).collect();
    let trace = |name: String| (name.clone(), fs::read(run.join("traces").join(&name)).unwrap());
    let traces = files(&run.join("traces")).into_iter().map(trace).collect();
    End { summary, findings, traces }
}

fn merge(folder: &Path, dirs: &str) -> Ran {
    explode_in(folder, ["merge"].into_iter().chain(dirs.split(' ')).chain(["--format", "jsonl"]))
}

/// Returns the jobs to run, from the last line of the output.
fn jobs(ran: &Ran) -> Vec<PathBuf> {
    let lines = ran.json();
    let line = lines.last().filter(|line| line["type"] == "jobs");
    let jobs = line.map_or_else(Vec::new, |line| line["jobs"].as_array().unwrap().clone());
    jobs.iter().map(|job| PathBuf::from(job.as_str().unwrap())).collect()
}

/// Runs jobs in this order, in three processes at a time.
fn work(folder: &Path, jobs: &[PathBuf]) {
    let waiting = Mutex::new(jobs.iter());
    let next = || waiting.lock().unwrap().next();
    let worker = || {
        while let Some(job) = next() {
            work_on(folder, job).expect(0);
        }
    };
    thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(worker)));
}

fn work_on(folder: &Path, job: &Path) -> Ran {
    explode_in(folder, [OsStr::new("work"), job.as_os_str()])
}

/// Brings jobs into a random order.
fn shuffle(jobs: &mut [PathBuf], draws: &mut Draws) {
    for last in (1..jobs.len()).rev() {
        jobs.swap(last, draws.below(last as u64 + 1) as usize);
    }
}

/// Checks that the loop of jobs has the result of one process.
fn same(args: &str, code: i32, mut meanwhile: impl FnMut(u32, &Path, &[PathBuf])) {
    let folder = tempdir().unwrap();
    let path = folder.path();
    let words = |more: &str| -> Vec<String> {
        ["run"]
            .into_iter()
            .chain(args.split(' '))
            .chain(more.split(' '))
            .map(str::to_owned)
            .collect()
    };
    explode_in(path, words("--out whole --format jsonl").iter().map(String::as_str)).expect(code);
    let planned =
        explode_in(path, words("--plan dir --format jsonl").iter().map(String::as_str)).expect(0);
    let mut waiting: Vec<PathBuf> = jobs(&planned);
    let (mut draws, mut rounds) = (Draws::new(11, 0), 0);
    while !waiting.is_empty() {
        shuffle(&mut waiting, &mut draws);
        meanwhile(rounds, path, &waiting);
        // A job that was run meanwhile, and waits to be merged, is no longer listed.
        waiting.retain(|job| path.join(job).exists());
        work(path, &waiting);
        let merged = merge(path, "dir");
        assert!([0, 1].contains(&merged.code), "{}", merged.err);
        waiting = jobs(&merged);
        rounds += 1;
    }
    assert!(rounds > 1, "one round is no loop");
    assert_eq!(end(&path.join("dir/run")), end(&path.join("whole")), "{args}");
    assert!(files(&path.join("dir/results")).is_empty(), "the run is over");
    // Another merge changes nothing.
    merge(path, "dir").expect(code);
    assert_eq!(end(&path.join("dir/run")), end(&path.join("whole")), "{args}");
}

#[test]
fn a_run_by_jobs_has_equal_results() {
    same("sqlite-off-wal --depth 3", 1, |_, _, _| {});
    same("fs-basic --states 60", 0, |_, _, _| {});
    same("fs-basic --strategy random --seed 7 --states 60", 0, |_, _, _| {});
    // The last of these states is reached within a walk.
    same("fs-basic --strategy random --seed 8 --states 60", 0, |_, _, _| {});
    same("paxos+last-promise --walks 2000", 1, |_, _, _| {});
}

/// A worker that is killed, a job that runs twice, a result that arrives twice, a result of a run
/// with other options, and a merge without new results.
#[test]
fn accidents_change_nothing() {
    let others = tempdir().unwrap();
    let foreign = foreign(others.path());
    let mut kept = Vec::new();
    let mut refused = 0;
    same("sqlite-off-wal --depth 3", 1, |round, folder, waiting| {
        let job = waiting.last().unwrap();
        let mut command = Command::new(program());
        let mut killed =
            command.current_dir(folder).arg("work").arg(job).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(30));
        killed.kill().unwrap();
        killed.wait().unwrap();
        work(folder, std::slice::from_ref(job));
        let results = folder.join("dir/results");
        let result = results.join(job.file_name().unwrap());
        let bytes = fs::read(&result).unwrap();
        // Run twice more, the file is neither changed nor replaced.
        let file = || {
            fs::metadata(&result).map(|file| (file.ino(), file.mtime(), file.mtime_nsec())).unwrap()
        };
        let before = (file(), files(&results));
        for _ in 0..2 {
            let again = work_on(folder, job).expect(0);
            assert!(again.out.is_empty() && again.err.contains("is there already"), "{again:?}");
        }
        assert_eq!((file(), files(&results)), before);
        assert_eq!(fs::read(&result).unwrap(), bytes);
        // Also by another name, and the results of the round before once more.
        fs::write(results.join(format!("again-{round}")), &bytes).unwrap();
        kept.iter().for_each(|(name, bytes)| fs::write(results.join(name), bytes).unwrap());
        kept = vec![(format!("late-{round}"), bytes)];
        if round == 1 {
            let other = results.join("foreign");
            fs::write(&other, &foreign).unwrap();
            let before = files(&results);
            let words = ["dir/results/foreign", "of another run, or of other options", "remove it"];
            merge(folder, "dir").refused(&words);
            assert_eq!(files(&results), before, "nothing was merged");
            fs::remove_file(other).unwrap();
            refused += 1;
        }
        let merged = merge(folder, "dir");
        assert!([0, 1].contains(&merged.code), "{}", merged.err);
    });
    assert_eq!(refused, 1);
}

/// Returns the result of a job of the same target with other options.
fn foreign(folder: &Path) -> Vec<u8> {
    let args = [
        "run",
        "sqlite-off-wal",
        "--depth",
        "3",
        "--seed",
        "2",
        "--plan",
        "dir",
        "--format",
        "jsonl",
    ];
    let job = jobs(&explode_in(folder, args).expect(0)).remove(0);
    work_on(folder, &job).expect(0);
    fs::read(folder.join("dir/results").join(job.file_name().unwrap())).unwrap()
}

/// The job comes on standard input. Its result is in another folder.
#[test]
fn a_job_is_run_anywhere() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    let planned = ["run", "fs-basic", "--states", "30", "--plan", "dir", "--format", "jsonl"];
    let job = jobs(&explode_in(path, planned).expect(0)).remove(0);
    fs::create_dir_all(path.join("other/results")).unwrap();
    let run = |out: &str| {
        let out = fs::File::create(path.join(out)).unwrap();
        let job = fs::File::open(path.join(&job)).unwrap();
        let mut command = Command::new(program());
        assert!(command.args(["work", "-"]).stdin(job).stdout(out).status().unwrap().success());
    };
    run("other/results/here");
    let merged = merge(path, "dir other").expect(0);
    assert!(!jobs(&merged).is_empty(), "there are more states");
    // A finished job is not run again.
    let done = explode_in(path, ["work", job.to_str().unwrap()]);
    assert_eq!(done.code, 2, "the job is merged, and gone: {}", done.err);
}

#[test]
fn damaged_files_are_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    let args = ["run", "fs-basic", "--states", "30", "--plan", "dir", "--format", "jsonl"];
    work(path, &jobs(&explode_in(path, args).expect(0)));
    let result = files(&path.join("dir/results")).remove(0);
    let result = path.join("dir/results").join(result);
    let bytes = fs::read(&result).unwrap();
    fs::write(&result, &bytes[..bytes.len() - 1]).unwrap();
    merge(path, "dir").refused(&["not a result, or damaged", "run its job again"]);
    fs::write(&result, &bytes).unwrap();
    merge(path, "dir").expect(0);
    explode_in(path, ["run", "fs-basic", "--plan", "dir"]).refused(&["dir is not empty"]);
    explode_in(path, ["work", "dir/plan"]).refused(&["dir/plan", "plan the run again"]);
    explode_in(path, ["work", "nothing"]).refused(&["nothing", "DIR/jobs/ID"]);
    merge(path, "nothing").refused(&["nothing/plan", "explode run --plan"]);
}
