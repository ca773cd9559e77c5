//! Workers that are slowed down and killed at random. The findings and counts of a run stay the
//! same.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use explode_runtime::choose::Draws;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::tempdir;

use crate::common::processes::Mark;
use crate::common::{Ran, program};
use crate::files::end;
use crate::{Left, left, run};

/// Returns the processes of the workers of a run: its children that serve.
fn workers(run: i32, mark: &Mark<'_>) -> Vec<Pid> {
    let is_worker = |process: &i32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let parent =
            stat.rsplit_once(") ").and_then(|(_, after)| after.split(' ').nth(1)?.parse().ok());
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        parent == Some(run) && words.split(|byte| *byte == 0).nth(1) == Some(b"worker")
    };
    let processes = mark.processes().into_iter().map(|(process, _)| process);
    processes.filter(is_worker).map(Pid::from_raw).collect()
}

/// The most workers that are killed. A unit in whose one step workers die repeatedly is given up.
const MOST: u32 = 3;

/// Stops and kills workers from the first line of the run's output until the run has ended. A
/// worker whose stack has never started has nothing to repeat. Returns the number of killed
/// workers.
fn disturb(child: &mut Child, said: &Path, mark: &Mark<'_>, seed: u64) -> u32 {
    let mut random = Draws::new(seed, 0);
    let (mut killed, mut stopped) = (0, Vec::new());
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20 + random.below(60)));
        // The worker may have ended by itself.
        stopped.drain(..).for_each(|worker| _ = kill(worker, Signal::SIGCONT));
        let has_begun = fs::metadata(said).is_ok_and(|said| said.len() > 0);
        let workers = if has_begun { workers(child.id() as i32, mark) } else { Vec::new() };
        for worker in workers {
            match random.below(4) {
                0 if killed < MOST => killed += u32::from(kill(worker, Signal::SIGKILL).is_ok()),
                1 if kill(worker, Signal::SIGSTOP).is_ok() => stopped.push(worker),
                _ => {}
            }
        }
    }
    killed
}

/// Returns the lines without those about dead workers.
pub fn without_deaths(mut left: Left) -> Left {
    left.lines.retain(|line| line["type"] != "broken");
    left.lines
        .iter_mut()
        .filter(|line| line["type"] == "summary")
        .for_each(|line| _ = line["broken"].take());
    left
}

fn same(args: &str, code: i32) {
    let folder = tempdir().unwrap();
    let whole = without_deaths(run(folder.path(), &format!("{args} --out run"), 1, code));
    let mut killed = 0;
    for jobs in [1, 2, 3, 8] {
        let folder = tempdir().unwrap();
        let mark = Mark::of(folder.path());
        let jobs = jobs.to_string();
        let mut command = Command::new(program());
        command.current_dir(folder.path()).arg("run").args(args.split(' '));
        command.args(["--out", "run", "--format", "jsonl", "--jobs", &jobs]);
        let said = folder.path().join("said");
        let out = fs::File::create(&said).unwrap();
        let mut child = mark.put(&mut command).stdout(out).stderr(Stdio::null()).spawn().unwrap();
        killed += disturb(&mut child, &said, &mark, 7 + u64::from(killed));
        let code = child.wait().unwrap().code().unwrap();
        let out = fs::read_to_string(&said).unwrap();
        let ran = Ran { code, out, err: String::new() };
        assert_eq!(
            without_deaths(self::left(Path::new(folder.path()), &ran)),
            whole,
            "{args}: {jobs} jobs"
        );
        mark.nothing_left();
    }
    assert!(killed > 4, "{killed} workers were killed");
}

#[test]
fn workers_that_are_slow_or_die_change_nothing() {
    same("sqlite-off --depth 2 --limit 2000 --samples 400", 1);
}

#[test]
fn walks_are_the_same_with_workers_that_die() {
    same("fs-basic --strategy random --seed 7 --states 1000", 0);
}

/// Kills the run itself at each fifth of its journal except the last two, and resumes it with
/// another number of workers.
fn resumed(args: &str, code: i32) {
    let folder = tempdir().unwrap();
    let path = folder.path();
    run(path, &format!("{args} --out whole"), 1, code);
    let journal =
        |out: &str| fs::metadata(path.join(out).join("journal")).map_or(0, |journal| journal.len());
    let size = journal("whole");
    let mark = Mark::of(path);
    let mut killed = 0;
    for (fifths, jobs) in [(1, "2"), (2, "1"), (3, "8")] {
        let mut command = Command::new(program());
        command.current_dir(path).arg("run");
        match fifths {
            1 => command.args(args.split(' ')).args(["--out", "run"]),
            _ => command.args(["--resume", "run"]),
        };
        command
            .args(["--format", "jsonl", "--jobs", jobs])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = mark.put(&mut command).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && journal("run") < size * fifths / 5 {
            std::thread::sleep(Duration::from_millis(1));
        }
        killed += u32::from(child.try_wait().unwrap().is_none() && child.kill().is_ok());
        child.wait().unwrap();
        mark.nothing_left();
    }
    assert!(killed > 0, "{args}: the run ended before it was killed");
    run(path, "--resume run", 3, code);
    assert_eq!(end(&path.join("run")), end(&path.join("whole")), "{args}: {killed} times killed");
}

/// SIGKILL to the supervisor, and `--resume`.
#[test]
fn runs_that_are_killed_and_resumed_are_the_same() {
    resumed("sqlite-off-wal --depth 3", 1);
    resumed("fs-basic --strategy random --seed 7 --states 400", 0);
}
