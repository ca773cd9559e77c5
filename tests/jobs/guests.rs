//! The tests of `--jobs` in guests: each worker has its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use explode_runtime::choose::Draws;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::tempdir;

use crate::accidents::without_deaths;
use crate::common::processes::Mark;
use crate::common::timeline::Timeline;
use crate::common::{Ran, file, guest, program, ran};
use crate::files::{End, end};
use crate::{Left, left, run};

/// Random walks, with two findings.
const EXT2: &str =
    "fs-sync-ext2 --strategy random --depth 3 --states 30 --limit 2 --samples 2 --crash-depth 0";
/// With skipped checks.
const EXT4: &str = "fs-sync-ext4 --depth 2 --states 30 --limit 20 --samples 8 --crash-depth 0";
/// With crashes during recovery, and without skipping.
const EXT4_ALL: &str = "fs-sync-ext4 --depth 2 --states 15 --limit 2 --samples 2 --no-skip";
/// Walks with failures of kernel functions. A failure is the finding.
const WEIGHTED: &str = "fs-failures-ext4 --strategy weighted --seed 1 --states 14 --limit 2 \
                        --samples 2 --crash-depth 0 --set fs-failures.start=empty";
const PCT: &str = "fs-failures-ext4 --strategy pct:d=2,k=10 --seed 1 --states 14 --limit 2 \
                   --samples 2 --crash-depth 0 --set fs-failures.start=empty";
/// A time longer than a guest takes to boot, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(900);

/// Lets one test run at a time, because each has several guests. `None` if a requirement of guests
/// is missing.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    guest::required().then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The results of a run with one worker.
struct Whole {
    left: Left,
    end: End,
    journal: u64,
}

impl Whole {
    fn of(args: &str, code: i32) -> Whole {
        let folder = tempdir().unwrap();
        let left = run(folder.path(), &format!("{args} --out run"), 1, code);
        Whole { left, end: end(&folder.path().join("run")), journal: journal(folder.path()) }
    }

    fn summary(&self) -> &Value {
        self.left.lines.last().unwrap()
    }
}

/// Returns the length of a run's journal.
fn journal(folder: &Path) -> u64 {
    fs::metadata(folder.join("run/journal")).map_or(0, |journal| journal.len())
}

fn ext2() -> &'static Whole {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| Whole::of(EXT2, 1))
}

fn ext4() -> &'static Whole {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| Whole::of(EXT4, 0))
}

/// A run in the background.
struct Running<'a> {
    folder: &'a Path,
    child: Child,
    said: String,
    out: Lines<BufReader<ChildStdout>>,
    mark: &'a Mark<'a>,
    /// The guests of its workers. The guest of the run's own worker is first.
    guests: Vec<Pid>,
}

impl<'a> Running<'a> {
    /// Begins the run, and waits until the first guest of each worker exists.
    fn begin(folder: &'a Path, mark: &'a Mark<'a>, args: &str, jobs: usize) -> Running<'a> {
        let mut command = Command::new(program());
        command.current_dir(folder).arg("run").args(args.split_whitespace());
        command.args(["--out", "run", "--format", "jsonl", "--jobs", &jobs.to_string()]);
        let mut child = mark.put(&mut command).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = out.next().unwrap().unwrap() + "\n";
        let mut running = Running { folder, child, said, out, mark, guests: Vec::new() };
        let started = Instant::now();
        while running.guests.len() < jobs {
            assert!(started.elapsed() < DEADLINE, "there are {} guests only", running.guests.len());
            sleep(Duration::from_millis(10));
            running.guests = running.guests_now();
        }
        running
    }

    /// Returns the guests that exist now, the oldest first.
    fn guests_now(&self) -> Vec<Pid> {
        let guests =
            self.mark.processes().into_iter().filter(|(_, name)| name.starts_with("qemu-system"));
        let mut guests: Vec<i32> = guests.map(|(process, _)| process).collect();
        guests.sort_by_key(|guest| self::started(*guest));
        guests.into_iter().map(Pid::from_raw).collect()
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Kills some guests of workers once each, and stops others for a moment, until the run is
    /// over. A later guest may replay a finding, and is only stopped.
    fn disturb(&mut self, mut doomed: Vec<Pid>, seed: u64) {
        let mut draws = Draws::new(seed, 0);
        while !self.is_over() {
            for guest in self.guests_now() {
                // The guest may have ended by itself.
                if draws.below(4) == 0 && kill(guest, Signal::SIGSTOP).is_ok() {
                    sleep(Duration::from_millis(draws.below(150)));
                    kill(guest, Signal::SIGCONT).ok();
                }
            }
            sleep(Duration::from_millis(draws.below(300)));
            if draws.below(2) == 0
                && let Some(guest) = doomed.pop()
            {
                kill(guest, Signal::SIGKILL).ok();
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Waits for the run's end, and checks that no process is left.
    fn end(mut self, code: Option<i32>) -> Left {
        for line in self.out {
            self.said += &line.unwrap();
            self.said.push('\n');
        }
        assert_eq!(self.child.wait().unwrap().code(), code, "{}", self.said);
        self.mark.nothing_left();
        left(self.folder, &Ran { code: code.unwrap_or(-1), out: self.said, err: String::new() })
    }
}

/// Returns the time at which a process was started, in ticks since the boot of the machine.
fn started(process: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, after)| after);
    after_name.split(' ').nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(u64::MAX)
}

/// Checks that runs with 1, 2, 3 and 8 guests have the same results, while some guests are stopped
/// for a moment or killed. The run reports only the death of its own worker.
fn same(args: &str, code: i32, whole: &Whole) {
    for (jobs, deaths) in [(1, 0..1), (2, 1..2), (3, 2..3), (8, 7..8)] {
        let folder = tempdir().unwrap();
        let mark = Mark::of(folder.path());
        let mut running = Running::begin(folder.path(), &mark, args, jobs);
        let doomed = running.guests[deaths].to_vec();
        running.disturb(doomed, jobs as u64);
        if jobs > 1 {
            let left = running.end(Some(code));
            assert_eq!(left, whole.left, "{args}: {jobs} jobs");
        } else {
            let left = running.end(Some(if code == 0 { 4 } else { code }));
            assert_eq!(left.lines.last().unwrap()["broken"], 1, "{left:?}");
            assert_eq!(
                without_deaths(left),
                without_deaths(whole.left.clone()),
                "{args}: its own guest was killed"
            );
        }
    }
}

#[test]
fn walks_have_equal_results() {
    let Some(_alone) = alone() else { return };
    assert_eq!(ext2().summary()["findings"], 2);
    same(EXT2, 1, ext2());
}

#[test]
fn exhaust_has_equal_results() {
    let Some(_alone) = alone() else { return };
    assert_eq!(ext4().left.lines[0]["skipping"], true);
    same(EXT4, 0, ext4());
}

#[test]
fn crashes_during_recovery_have_equal_results() {
    let Some(_alone) = alone() else { return };
    let folder = tempdir().unwrap();
    let whole = Whole::of(EXT4_ALL, 0);
    let args = format!("{EXT4_ALL} --out run --timeline timeline");
    assert_eq!(run(folder.path(), &args, 2, 0), whole.left);
    let timeline = Timeline::read(&folder.path().join("timeline"));
    timeline.units_are_waited_for();
    assert_eq!(timeline.processes[&1], "supervisor");
    // The run may be over before all guests have booted.
    let others = timeline.processes.keys().filter(|process| **process > 1);
    assert!(others.clone().count() > 0);
    others.for_each(|process| assert_eq!(timeline.count("first_start", Some(*process)), 1));
    assert!(timeline.count("check", None) > 0 && timeline.count("boot", Some(1)) > 0);
    assert!(whole.summary()["crash_crash_disks"].as_u64() > Some(0), "{}", whole.summary());
}

/// Checks that the finding is a failure that was drawn.
fn has_drawn_a_failure(whole: &Whole) {
    assert_eq!(whole.summary()["findings"], 1);
    let trace: Value = serde_json::from_slice(whole.left.traces.values().next().unwrap()).unwrap();
    let choices = trace["choices"].as_array().unwrap();
    let failed = |choice: &Value| {
        choice["kind"].as_str().unwrap().ends_with("-failure") && choice["value"] == 0
    };
    assert!(choices.iter().any(failed), "{choices:#?}");
}

#[test]
fn walks_with_failures_have_equal_results() {
    let Some(_alone) = alone() else { return };
    let folder = tempdir().unwrap();
    let whole = Whole::of(WEIGHTED, 1);
    has_drawn_a_failure(&whole);
    assert_eq!(run(folder.path(), &format!("{WEIGHTED} --out run"), 3, 1), whole.left);
}

/// Ctrl-C ends a run and all its guests. `--resume` continues it with another number of guests.
#[test]
fn a_run_in_guests_is_stopped_and_resumed() {
    let Some(_alone) = alone() else { return };
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let running = Running::begin(folder.path(), &mark, EXT4, 3);
    running.signal(Signal::SIGINT);
    let stopped = running.end(Some(0)).lines.pop().unwrap();
    assert_eq!(
        (&stopped["type"], &stopped["complete"]),
        (&"summary".into(), &false.into()),
        "{stopped}"
    );
    assert!(stopped["operations"].as_u64() < ext4().summary()["operations"].as_u64(), "{stopped}");
    run(folder.path(), "--resume run", 2, 0).goes_on(&ext4().left, "a run that Ctrl-C has ended");
}

/// SIGKILL in the middle of a run leaves no guest, and `--resume` continues it with another number
/// of guests.
#[test]
fn a_killed_run_leaves_no_guest_and_is_resumed() {
    let Some(_alone) = alone() else { return };
    let whole = Whole::of(PCT, 1);
    has_drawn_a_failure(&whole);
    let folder = tempdir().unwrap();
    let mark = Mark::of(folder.path());
    let mut running = Running::begin(folder.path(), &mark, PCT, 2);
    while !running.is_over() && journal(folder.path()) < whole.journal / 2 {
        sleep(Duration::from_millis(5));
    }
    running.signal(Signal::SIGKILL);
    running.end(None);
    run(folder.path(), "--resume run", 3, 1).goes_on(&whole.left, "a run that was killed");
    assert_eq!(end(&folder.path().join("run")), whole.end);
}

/// The run continues without helpers whose guests do not boot, and prints a note.
#[test]
fn guests_that_do_not_boot_are_reported() {
    let Some(_alone) = alone() else { return };
    let folder = tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    let qemu = "qemu-system-x86_64";
    let real =
        std::env::split_paths(&path).map(|folder| folder.join(qemu)).find(|path| path.is_file());
    let script = format!(
        "#!/bin/sh\n\
         # The probe of /dev/kvm is no worker.\n\
         case \"$*\" in *kvm*) exit 1;; esac\n\
         mkdir \"$0.started\" 2>/dev/null && exec {} \"$@\"\n\
         echo no memory >&2\n\
         exit 1\n",
        real.unwrap().display()
    );
    fs::create_dir(folder.path().join("bin")).unwrap();
    let fake = file(&folder.path().join("bin"), qemu, script);
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program());
    command.current_dir(folder.path()).arg("run").args(EXT4.split_whitespace());
    command.args("--jobs 3 --out run --format jsonl".split_whitespace());
    command.env("PATH", format!("{}:{path}", folder.path().join("bin").display()));
    let ran = ran(&mut command).expect(0);
    assert_eq!(left(folder.path(), &ran), ext4().left);
    for worker in [2, 3] {
        let note = format!(
            "note: the run continues without worker {worker} of 3: a worker could not be started: "
        );
        assert!(ran.err.contains(&note), "{}", ran.err);
    }
    assert!(ran.err.contains("no memory"), "{}", ran.err);
}
