//! The same in guests: each worker has one of its own.

use std::io::{BufRead as _, BufReader, Lines};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::tempdir;

use crate::common::processes::Mark;
use crate::common::{file, guest, program, ran};
use crate::{Left, left, remove_effort, run};

/// Random walks, with a finding.
const EXT2: &str =
    "fs-sync-ext2 --strategy random --depth 3 --states 30 --limit 2 --samples 2 --crash-depth 0";
/// With checks that are skipped.
const EXT4: &str = "fs-sync-ext4 --depth 2 --states 30 --limit 20 --samples 8 --crash-depth 0";
/// With crashes during recovery, and every check made.
const EXT4_ALL: &str = "fs-sync-ext4 --depth 2 --states 15 --limit 2 --samples 2 --no-skip";
/// Longer than a guest takes to boot, on a busy machine too.
const DEADLINE: Duration = Duration::from_secs(900);

/// One test at a time, for each has several guests; none without what a guest needs.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    guest::required().then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What a run with one worker leaves.
fn whole(args: &str, code: i32) -> Left {
    let folder = tempdir().unwrap();
    run(folder.path(), &format!("{args} --out run"), 1, code)
}

fn ext2() -> &'static Left {
    static WHOLE: OnceLock<Left> = OnceLock::new();
    WHOLE.get_or_init(|| whole(EXT2, 1))
}

fn ext4() -> &'static Left {
    static WHOLE: OnceLock<Left> = OnceLock::new();
    WHOLE.get_or_init(|| whole(EXT4, 0))
}

/// A run in the background.
struct Running<'a> {
    folder: &'a Path,
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    last: Value,
    mark: &'a Mark<'a>,
    /// The guest of the run's own worker.
    first: i32,
}

impl<'a> Running<'a> {
    /// Begins it, and waits until a helper's guest is there, too.
    fn begin(folder: &'a Path, mark: &'a Mark<'a>, args: &str) -> Running<'a> {
        let mut command = Command::new(program());
        command.current_dir(folder).arg("run").args(args.split_whitespace()).args(["--format", "jsonl"]);
        let mut child = mark.put(&mut command).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut running = Running { folder, child, out, last: Value::Null, mark, first: 0 };
        // The first line comes when its worker has started: it has the only guest, or helpers have begun to boot some after it.
        assert_eq!(running.line().unwrap(), "run");
        running.first = running.guests().into_iter().min_by_key(|guest| started(*guest)).unwrap();
        running.helper();
        running
    }

    /// Its guests, of which the first one is the oldest.
    fn guests(&self) -> Vec<i32> {
        let guests = self.mark.processes().into_iter().filter(|(_, name)| name.starts_with("qemu-system"));
        guests.map(|(process, _)| process).collect()
    }

    /// The type of its next line; none at the end.
    fn line(&mut self) -> Option<String> {
        self.last = serde_json::from_str(&self.out.next()?.unwrap()).unwrap();
        Some(self.last["type"].as_str().unwrap().to_owned())
    }

    /// Waits for a guest that is not that of the run's own worker.
    fn helper(&self) -> i32 {
        let started = Instant::now();
        loop {
            if let Some(helper) = self.guests().into_iter().find(|guest| *guest != self.first) {
                return helper;
            }
            assert!(started.elapsed() < DEADLINE, "there is one guest only");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills a helper's guest at once, and now and then one that is there later: they boot, or work.
    fn kill_helpers(&mut self) {
        kill(Pid::from_raw(self.helper()), Signal::SIGKILL).unwrap();
        let mut progress = 0;
        // A finding has a guest of its own for its replay.
        while progress < 20 && self.line().is_some_and(|line| line == "progress") {
            progress += 1;
            let helper = self.guests().into_iter().find(|guest| *guest != self.first);
            if let Some(helper) = helper.filter(|_| progress % 5 == 0) {
                // It may have ended by itself meanwhile.
                kill(Pid::from_raw(helper), Signal::SIGKILL).ok();
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Waits for its end; nothing is left running. Returns its last line.
    fn end(mut self, code: Option<i32>) -> Value {
        while self.line().is_some() {}
        assert_eq!(self.child.wait().unwrap().code(), code, "{}", self.folder.display());
        self.mark.nothing_left();
        self.last
    }
}

/// When a process was started, in ticks since the machine was.
fn started(process: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, after)| after);
    after_name.split(' ').nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(u64::MAX)
}

#[test]
fn guests_come_to_the_same() {
    let Some(_alone) = alone() else { return };
    let every = whole(EXT4_ALL, 0);
    for (args, jobs, code, whole) in [(EXT2, 3, 1, ext2()), (EXT4, 8, 0, ext4()), (EXT4_ALL, 2, 0, &every)] {
        let folder = tempdir().unwrap();
        assert_eq!(run(folder.path(), &format!("{args} --out run"), jobs, code), *whole, "{args}");
    }
    // What is compared is something.
    for (whole, key) in [(ext2(), "findings"), (&every, "crash_crash_disks")] {
        let summary = whole.lines.last().unwrap();
        assert!(summary[key].as_u64() > Some(0), "{key} of {summary}");
    }
    assert_eq!(ext4().lines[0]["skipping"], true);
}

/// Ctrl-C ends a run and all its guests; another one goes on with it, with another number of them.
#[test]
fn a_run_in_guests_is_stopped_and_goes_on() {
    let Some(_alone) = alone() else { return };
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let running = Running::begin(folder.path(), &mark, &format!("{EXT4} --jobs 3 --out run"));
    running.signal(Signal::SIGINT);
    let stopped = running.end(Some(0));
    assert_eq!((&stopped["type"], &stopped["complete"]), (&"summary".into(), &false.into()), "{stopped}");
    assert!(
        stopped["operations"].as_u64() < ext4().lines.last().unwrap()["operations"].as_u64(),
        "{stopped}"
    );
    run(folder.path(), "--resume run", 2, 0).goes_on(ext4(), "a run that Ctrl-C has ended");
}

/// kill -9.
#[test]
fn a_run_that_is_killed_leaves_no_guest() {
    let Some(_alone) = alone() else { return };
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let running = Running::begin(folder.path(), &mark, &format!("{EXT4} --jobs 2 --out run"));
    running.signal(Signal::SIGKILL);
    running.end(None);
}

/// The death of a helper changes nothing; the run reports the death of its own worker.
#[test]
fn guests_that_are_killed_change_no_count() {
    let Some(_alone) = alone() else { return };
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    for (name, first) in [("helpers", false), ("first", true)] {
        let mut running = Running::begin(folder.path(), &mark, &format!("{EXT2} --jobs 2 --out {name}"));
        if first {
            kill(Pid::from_raw(running.first), Signal::SIGKILL).unwrap();
        } else {
            running.kill_helpers();
        }
        let mut summary = running.end(Some(1));
        let broken = summary["broken"].take();
        assert_eq!(broken.as_u64(), Some(u64::from(first)), "{name}: {summary}");
        let mut expected = ext2().lines.last().unwrap().clone();
        expected["broken"].take();
        remove_effort(&mut summary);
        assert_eq!(summary, expected, "{name}");
    }
}

/// The run goes on without helpers whose guests do not boot, and prints a note.
#[test]
fn guests_that_do_not_boot_are_told_of() {
    let Some(_alone) = alone() else { return };
    let folder = tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    let qemu = "qemu-system-x86_64";
    let real = std::env::split_paths(&path).map(|folder| folder.join(qemu)).find(|path| path.is_file());
    let script = format!(
        "#!/bin/sh\n\
         # The probe of /dev/kvm is no worker.\n\
         case \"$*\" in *kvm*) exit 1;; esac\n\
         mkdir \"$0.started\" 2>/dev/null && exec {} \"$@\"\n\
         echo no memory >&2\n\
         exit 1\n",
        real.unwrap().display()
    );
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    let fake = file(&folder.path().join("bin"), qemu, script);
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program());
    command.current_dir(folder.path()).arg("run").args(EXT4.split_whitespace());
    command.args("--jobs 3 --out run --format jsonl".split_whitespace());
    command.env("PATH", format!("{}:{path}", folder.path().join("bin").display()));
    let ran = ran(&mut command).expect(0);
    assert_eq!(left(folder.path(), &ran), *ext4());
    for worker in [2, 3] {
        let note =
            format!("note: the run goes on without worker {worker} of 3: a worker could not be started: ");
        assert!(ran.err.contains(&note), "{}", ran.err);
    }
    assert!(ran.err.contains("no memory"), "{}", ran.err);
}
