//! Running one command: `/bin/sh -c`, with what it printed.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_settime};

use super::marks::Marks;
use super::no_sync::run_without_sync;
use explode_kernel::TOOLS;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::devices::{DiskSet, NOW, Side};

/// Where a guest has the programs that came with the agent.
const GUEST_PROGRAMS: &str = "/agent/bin";

/// How a command ended.
#[derive(Debug)]
pub struct CommandResult {
    status: ExitStatus,
    /// Its standard output.
    pub out: Vec<u8>,
    /// Everything that it printed, in order; without the standard output if that was asked for
    /// alone.
    said: String,
}

/// Where the standard output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// To the same place as what is printed on standard error.
    Said,
    /// To a place of its own: it is the result.
    Alone,
}

impl CommandResult {
    /// The exit code; none if it was killed.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The last line that it printed; empty if it printed nothing.
    pub fn last_line(&self) -> &str {
        self.said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// Could the shell not run it at all?
    pub fn not_run(&self) -> bool {
        matches!(self.code(), Some(126 | 127))
    }

    /// How it ended, for a person.
    pub fn failure_message(&self, command: &str) -> String {
        let how = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("ended with {code}"),
            (None, signal) => format!("was killed by signal {}", signal.unwrap_or(0)),
        };
        match self.last_line() {
            "" => format!("`{command}` {how} and printed nothing"),
            line => format!("`{command}` {how}: {line}"),
        }
    }

    /// A fault of the checked system, or of the command's author if the shell could not run
    /// it.
    pub fn fault(&self, command: &str) -> StepError {
        let fault = StepError::new(self.failure_message(command));
        if self.not_run() { fault.blame(Blame::Tool) } else { fault }
    }
}

/// Runs a command beside the stack on these devices.
///
/// # Errors
/// There is no shell, or no room for what it prints.
pub fn run(
    command: &str,
    devices: &dyn DiskSet,
    out: OutputMode,
    variables: &[(&str, &OsStr)],
) -> Result<CommandResult, StepError> {
    run_command(command, devices, out, variables, None)
}

/// The same beside the stack that mutates drive: the command may call `explode-mark`; then `hear`
/// is called. What it prints goes to one place.
///
/// # Errors
/// As [`run`].
pub fn run_hearing(
    command: &str,
    devices: &dyn DiskSet,
    hear: &mut dyn FnMut(&str),
) -> Result<CommandResult, StepError> {
    run_command(command, devices, OutputMode::Said, &[], Some(hear))
}

thread_local! {
    /// A thread runs one command at a time.
    static MARKS: RefCell<Option<Marks>> = const { RefCell::new(None) };
}

fn run_command(
    command: &str,
    devices: &dyn DiskSet,
    out: OutputMode,
    variables: &[(&str, &OsStr)],
    hear: Option<&mut dyn FnMut(&str)>,
) -> Result<CommandResult, StepError> {
    let failed = |error: std::io::Error| {
        StepError::new(format!("`{command}` cannot be run: {error}")).blame(Blame::Tool)
    };
    // Files and not pipes: a command may leave a process behind that holds its output open.
    let (mut said, mut alone) = (tempfile::tempfile().map_err(failed)?, None);
    let stdout = match out {
        OutputMode::Said => said.try_clone(),
        OutputMode::Alone => tempfile::tempfile().and_then(|file| alone.insert(file).try_clone()),
    };
    let mut shell = Command::new("/bin/sh");
    let mut path = std::env::var("PATH").unwrap_or_default();
    if devices.kernel().is_some() {
        path = format!("{TOOLS}:{path}");
        shell.env("PATH", &path);
    }
    if std::process::id() == 1 {
        shell.env("PATH", format!("{GUEST_PROGRAMS}:{path}"));
        // The e2fsprogs take the time from here: a second may pass while they run.
        shell.env("E2FSPROGS_FAKE_TIME", NOW.to_string()).env("E2FSCK_TIME", NOW.to_string());
    }
    hold_clock();
    shell.args(["-c", command]).envs(variables.iter().copied()).stdin(Stdio::null());
    shell.stdout(stdout.map_err(failed)?).stderr(said.try_clone().map_err(failed)?);
    let beside_live = devices.kernel().is_some_and(|disks| disks.side() == Side::Crash);
    let status = match hear {
        Some(hear) => MARKS.with_borrow_mut(|marks| wait_hearing(marks, &mut shell, hear)),
        None if beside_live => run_without_sync(shell),
        None => shell.status(),
    };
    let status = status.map_err(failed)?;
    let out =
        alone.map_or_else(|| Ok(Vec::new()), |mut file| contents(&mut file)).map_err(failed)?;
    let said = String::from_utf8_lossy(&contents(&mut said).map_err(failed)?).into_owned();
    Ok(CommandResult { status, out, said })
}

fn wait_hearing(
    marks: &mut Option<Marks>,
    shell: &mut Command,
    hear: &mut dyn FnMut(&str),
) -> std::io::Result<ExitStatus> {
    let marks = match marks {
        Some(marks) => marks,
        None => marks.insert(Marks::new()?),
    };
    let set = shell.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    let mut path = marks.folder().as_os_str().to_owned();
    if let Some(before) = set.map(OsStr::to_owned).or_else(|| std::env::var_os("PATH")) {
        path.push(":");
        path.push(before);
    }
    shell.env("PATH", path);
    marks.wait(shell, hear)
}

fn contents(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Programs read the machine's clock, which only a guest of ours lets us set: there we are the
/// first process.
pub fn hold_clock() {
    if std::process::id() == 1 {
        // A clock that cannot be set makes a disk that differs, which the replay then says.
        clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::new(NOW as i64, 0)).ok();
    }
}
