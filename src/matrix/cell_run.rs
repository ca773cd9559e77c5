//! A run of explode in a process of its own, heard until it ends or is ended.

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

/// When a run ends.
#[derive(Clone, Copy)]
pub struct CellLimits<'a> {
    /// The run's own budget.
    pub budget: Duration,
    /// That of a step.
    pub deadline: Duration,
    /// End it as soon as it has found, and replayed, something of this kind.
    pub until: Option<&'a dyn Fn(&Finding) -> bool>,
    /// Everything ends once this is set.
    pub interrupted: &'a AtomicBool,
}

/// After its budget a run still has the step that is under way to end, and findings to replay, each
/// in a guest of its own: so many deadlines of a step, and this time at least.
const STEPS: u32 = 10;
const GRACE: Duration = Duration::from_secs(300);
/// What was asked to end, ends within this time.
const ENDING: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(100);
/// So much of what is said on standard error is kept.
const SAID: usize = 4000;

/// What a run has said.
#[derive(Default)]
pub struct CellRun {
    pub findings: Vec<Finding>,
    pub broken: Vec<Unable>,
    pub summary: Option<Summary>,
    /// Its exit code; none if it was killed.
    pub code: Option<i32>,
    /// On standard error.
    pub said: String,
    /// The result of a replay.
    pub replay: Option<Replayed>,
    /// It had to be killed.
    pub hung: bool,
    /// It was asked to end before its time, since everything is to end.
    pub interrupted: bool,
}

/// Something that could not be done.
#[derive(Clone, Debug)]
pub struct Unable {
    pub kind: BrokenKind,
    pub message: String,
    /// The line of the profile that excludes it, if that is why.
    pub profile: Option<String>,
}

/// What a replay says.
#[derive(Deserialize)]
pub struct Replayed {
    pub reproduced: bool,
    pub message: String,
    /// Why it is not reproduced.
    pub reason: Option<NotReproduced>,
}

/// Runs a stack file; the run folder is `out`, which is absent.
pub fn run(file: &Path, out: &Path, limits: CellLimits<'_>) -> std::io::Result<CellRun> {
    let mut command = explode_vm::this_program();
    command.arg("run").arg(file).arg("--out").arg(out).args(["--format", "jsonl", "--budget"]);
    command.arg(format!("{}ms", limits.budget.as_millis()));
    hear(command, limits)
}

/// Replays a trace, with the deadline of these limits.
pub fn replay(trace: &Path, limits: CellLimits<'_>) -> std::io::Result<CellRun> {
    let mut command = explode_vm::this_program();
    command.arg("replay").arg(trace).args(["--format", "jsonl", "--deadline"]);
    command.arg(format!("{}ms", limits.deadline.as_millis()));
    hear(command, limits)
}

fn hear(mut command: Command, limits: CellLimits<'_>) -> std::io::Result<CellRun> {
    // Ctrl-C on the terminal must not reach it: this process asks it to end.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = explode_vm::spawn(command, Signal::SIGKILL)?;
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let (lines, heard) = mpsc::channel();
        scope.spawn(move || {
            let reader = out.take().into_iter().flat_map(|out| BufReader::new(out).lines());
            // There is no receiver any more once the run has ended.
            let _ = reader.map_while(Result::ok).try_for_each(|line| lines.send(line));
        });
        let said = scope.spawn(move || {
            let mut said = Vec::new();
            let _ = err.take().map(|mut err| err.read_to_end(&mut said));
            String::from_utf8_lossy(&said).trim().chars().take(SAID).collect::<String>()
        });
        let mut heard = listen(&mut child, &heard, limits);
        heard.code = child.wait()?.code();
        heard.said = said.join().unwrap_or_default();
        Ok(heard)
    })
}

/// Hears it until its output ends.
fn listen(child: &mut Child, lines: &mpsc::Receiver<String>, limits: CellLimits<'_>) -> CellRun {
    let mut heard = CellRun::default();
    let mut end = Instant::now() + limits.budget + GRACE.max(limits.deadline * STEPS);
    let mut asked = false;
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => heard.take(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return heard,
        }
        heard.interrupted |= limits.interrupted.load(Ordering::Relaxed);
        let found = |finding: &Finding| {
            finding.replayed && limits.until.is_some_and(|until| until(finding))
        };
        if !asked && (heard.interrupted || heard.findings.iter().any(found)) {
            asked = true;
            end = end.min(Instant::now() + ENDING);
            // One that has just ended needs no signal.
            let _ = kill(pid(child), Signal::SIGINT);
        }
        if Instant::now() > end && !heard.hung {
            heard.hung = true;
            // Its guests and workers end with it. One that has just ended needs no signal.
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
                // Told again with its last count.
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
