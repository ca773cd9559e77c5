//! A run of explode in another process, whose messages are read until it ends or is killed.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use explode_runtime::report::{Finding, Message, Summary};
use explode_runtime::trace::NotReproduced;
use explode_runtime::verdict::BrokenKind;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;

/// The limits of a run.
#[derive(Clone, Copy)]
pub struct CellLimits<'a> {
    /// The run's own budget.
    pub budget: Duration,
    /// The number of its workers.
    pub jobs: u32,
    /// The deadline of a step.
    pub deadline: Duration,
    /// Ends the run once a finding for which this returns true is replayed.
    pub until: Option<&'a dyn Fn(&Finding) -> bool>,
    /// Ends everything once it is true.
    pub interrupted: &'a AtomicBool,
}

/// The time after the budget that a run may take to end its current step and to replay findings,
/// each in another guest: `STEPS` deadlines, at least `GRACE`.
const STEPS: u32 = 10;
const GRACE: Duration = Duration::from_secs(300);
/// The time within which a run must end after it is interrupted.
const ENDING: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(100);
/// The number of characters of standard error that are kept.
const STDERR: usize = 4000;

/// The messages and the end of a run.
#[derive(Default)]
pub struct CellRun {
    pub findings: Vec<Finding>,
    pub broken: Vec<Unable>,
    pub summary: Option<Summary>,
    /// The exit code. `None` if the process was killed.
    pub code: Option<i32>,
    /// The text on standard error.
    pub stderr: String,
    /// The result of a replay. `None` for a run.
    pub replay: Option<Replayed>,
    /// True if it did not end in time and was killed.
    pub hung: bool,
    /// True if it was interrupted because everything is to end.
    pub interrupted: bool,
}

/// A `broken` message of a run.
#[derive(Clone, Debug)]
pub struct Unable {
    pub kind: BrokenKind,
    pub message: String,
    /// The line of the profile that excludes the request. `None` if that is not the reason.
    pub profile: Option<String>,
}

/// The result of a replay.
#[derive(Deserialize)]
pub struct Replayed {
    pub reproduced: bool,
    pub message: String,
    /// The reason why it is not reproduced.
    pub reason: Option<NotReproduced>,
}

/// Runs a stack file. The run folder is `out`, which must not exist.
pub fn run(file: &Path, out: &Path, limits: CellLimits<'_>) -> std::io::Result<CellRun> {
    let mut command = explode_vm::this_program();
    command.arg("run").arg(file).arg("--out").arg(out).args(["--format", "jsonl", "--budget"]);
    command.arg(format!("{}ms", limits.budget.as_millis()));
    command.arg("--jobs").arg(limits.jobs.to_string());
    run_command(command, limits)
}

/// Replays a trace, with the deadline of these limits.
pub fn replay(trace: &Path, limits: CellLimits<'_>) -> std::io::Result<CellRun> {
    let mut command = explode_vm::this_program();
    command.arg("replay").arg(trace).args(["--format", "jsonl", "--deadline"]);
    command.arg(format!("{}ms", limits.deadline.as_millis()));
    run_command(command, limits)
}

fn run_command(mut command: Command, limits: CellLimits<'_>) -> std::io::Result<CellRun> {
    // Ctrl-C on the terminal must not reach the run. This process interrupts it.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = explode_vm::spawn(command, Signal::SIGKILL)?;
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let (lines, received) = mpsc::channel();
        scope.spawn(move || {
            let reader = out.take().into_iter().flat_map(|out| BufReader::new(out).lines());
            // The receiver is gone once the run has ended.
            let _ = reader.map_while(Result::ok).try_for_each(|line| lines.send(line));
        });
        let stderr = scope.spawn(move || {
            let mut bytes = Vec::new();
            let _ = err.take().map(|mut err| err.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).trim().chars().take(STDERR).collect::<String>()
        });
        let mut run = listen(&mut child, &received, limits);
        run.code = child.wait()?.code();
        run.stderr = stderr.join().unwrap_or_default();
        Ok(run)
    })
}

/// Reads messages until the output ends.
fn listen(child: &mut Child, lines: &mpsc::Receiver<String>, limits: CellLimits<'_>) -> CellRun {
    let mut run = CellRun::default();
    let mut end = Instant::now() + limits.budget + GRACE.max(limits.deadline * STEPS);
    let mut is_stopping = false;
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => run.take(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return run,
        }
        run.interrupted |= limits.interrupted.load(Ordering::Relaxed);
        let found = |finding: &Finding| {
            finding.replayed && limits.until.is_some_and(|until| until(finding))
        };
        if !is_stopping && (run.interrupted || run.findings.iter().any(found)) {
            is_stopping = true;
            end = end.min(Instant::now() + ENDING);
            // A run that has just ended needs no signal.
            let _ = kill(pid(child), Signal::SIGINT);
        }
        if Instant::now() > end && !run.hung {
            run.hung = true;
            // Its guests and workers end with it. A run that has just ended needs no signal.
            let _ = child.kill();
        }
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a process id is an i32"))
}

impl CellRun {
    fn take(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(Message::Finding(finding)) => {
                // A finding is reported again with its last count.
                self.findings.retain(|found| found.id != finding.id);
                self.findings.push(finding);
            }
            Ok(Message::Broken { kind, message, profile }) => {
                self.broken.push(Unable { kind, message, profile });
            }
            Ok(Message::Summary(summary)) => self.summary = Some(summary),
            Ok(_) => {}
            Err(_) => self.replay = serde_json::from_str(line).ok().or(self.replay.take()),
        }
    }
}
