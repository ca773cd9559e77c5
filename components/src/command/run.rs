//! Runs one command with `/bin/sh -c` and returns its output.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_settime};

use super::marks::{MarkLine, Marks, tool};
use super::no_sync::run_without_sync;
use super::program_root;
use super::rootfs::run_in_rootfs;
use explode_fuse::{CallHook, MarkHook, Program, ProgramHooks};
use explode_kernel::TOOLS;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::devices::{DiskSet, NOW, Side};
use explode_runtime::events::CallLog;

/// The guest's folder of the programs that came with the agent.
const GUEST_PROGRAMS: &str = "/agent/bin";

/// The result of a command.
#[derive(Debug)]
pub struct CommandResult {
    status: ExitStatus,
    /// The standard output, if it was requested alone.
    pub out: Vec<u8>,
    /// Everything that the command printed, in order. Without the standard output if that was
    /// requested alone.
    output: String,
}

/// The destination of the standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// The same place as standard error.
    WithStderr,
    /// A place of its own, because it is the result.
    Alone,
}

impl CommandResult {
    /// Returns the exit code. `None` if the command was killed.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Returns the last line that the command printed. Empty if it printed nothing.
    pub fn last_line(&self) -> &str {
        self.output.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// Returns true if the shell could not run the command at all.
    pub fn not_run(&self) -> bool {
        matches!(self.code(), Some(126 | 127))
    }

    /// Describes the end of the command for the user.
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

    /// Returns the failure as a fault of the checked system, or of the command's author if the
    /// shell could not run the command.
    pub fn fault(&self, command: &str) -> StepError {
        let fault = StepError::new(self.failure_message(command));
        if self.not_run() { fault.blame(Blame::Tool) } else { fault }
    }
}

/// A variable of a command.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'v> {
    /// The name.
    pub name: &'v str,
    /// The value.
    pub value: VariableValue<'v>,
}

/// The value of a variable.
#[derive(Clone, Copy, Debug)]
pub enum VariableValue<'v> {
    /// A text.
    Text(&'v str),
    /// The path of a file with these contents.
    FileWith(&'v str),
}

/// Runs a command beside the stack on these devices.
///
/// # Errors
/// There is no shell, or no room for the output.
pub fn run(
    command: &str,
    devices: &dyn DiskSet,
    out: OutputMode,
    variables: &[Variable<'_>],
) -> Result<CommandResult, StepError> {
    run_command(command, devices, out, variables, None, LiveCommand::default())
}

/// Receives the requests of a program, as long as it runs.
pub type MarkReceiver = Box<dyn FnMut(MarkLine<'_>)>;

/// The surroundings of a command on the simulated files of the live stack.
#[derive(Default)]
pub struct LiveCommand {
    /// The log of the calls that change or sync files.
    pub log: Option<CallLog>,
    /// The seed of the random numbers that the kernel gives the command.
    pub seed: u32,
    /// Receives the requests of `explode-mark`.
    pub marks: Option<MarkReceiver>,
}

/// Runs a command on the simulated files of the live stack. Standard output and standard error go
/// to one place.
///
/// # Errors
/// The errors of [`run`].
pub fn run_live(
    command: &str,
    devices: &dyn DiskSet,
    live: LiveCommand,
) -> Result<CommandResult, StepError> {
    run_command(command, devices, OutputMode::WithStderr, &[], None, live)
}

/// Runs a command beside the live stack. Calls `receive` when the command calls `explode-mark`.
/// Standard output and standard error go to one place.
///
/// # Errors
/// The errors of [`run`].
pub fn run_with_requests(
    command: &str,
    devices: &dyn DiskSet,
    receive: &mut dyn FnMut(MarkLine<'_>),
) -> Result<CommandResult, StepError> {
    let live = LiveCommand::default();
    run_command(command, devices, OutputMode::WithStderr, &[], Some(receive), live)
}

thread_local! {
    /// The marks of this thread, which runs one command at a time.
    static MARKS: RefCell<Option<Marks>> = const { RefCell::new(None) };
}

fn run_command(
    command: &str,
    devices: &dyn DiskSet,
    out: OutputMode,
    variables: &[Variable<'_>],
    receive: Option<&mut dyn FnMut(MarkLine<'_>)>,
    live: LiveCommand,
) -> Result<CommandResult, StepError> {
    let failed = |error: std::io::Error| {
        StepError::new(format!("`{command}` cannot be run: {error}")).blame(Blame::Tool)
    };
    // Files and not pipes, because a command may leave a process behind that holds its output open.
    let (mut output, mut alone) = (tempfile::tempfile().map_err(failed)?, None);
    let stdout = match out {
        OutputMode::WithStderr => output.try_clone(),
        OutputMode::Alone => tempfile::tempfile().and_then(|file| alone.insert(file).try_clone()),
    };
    let stdout = stdout.map_err(failed)?;
    let stderr = output.try_clone().map_err(failed)?;
    let status = if explode_fuse::is_serving() {
        confined(command, variables, (stdout, stderr), live).map_err(failed)?
    } else {
        beside(command, devices, variables, stdout, stderr, receive).map_err(failed)?
    };
    let out =
        alone.map_or_else(|| Ok(Vec::new()), |mut file| contents(&mut file)).map_err(failed)?;
    let output = String::from_utf8_lossy(&contents(&mut output).map_err(failed)?).into_owned();
    Ok(CommandResult { status, out, output })
}

/// Runs a command on the simulated files that this thread serves.
fn confined(
    command: &str,
    variables: &[Variable<'_>],
    (out, err): (File, File),
    live: LiveCommand,
) -> std::io::Result<ExitStatus> {
    let mut environment = program_root::environment();
    let mut files = Vec::new();
    for Variable { name, value } in variables {
        let value = match value {
            VariableValue::Text(text) => (*text).to_owned(),
            VariableValue::FileWith(text) => {
                let path = format!("/tmp/{name}");
                files.push((path.clone().into(), text.as_bytes().to_owned()));
                path
            }
        };
        environment.push(((*name).to_owned(), value));
    }
    let LiveCommand { log, seed, marks } = live;
    if marks.is_some() {
        files.push((Path::new(explode_fuse::MARKS).join("explode-mark"), tool().into_bytes()));
    }
    let watch = ProgramHooks {
        calls: log.map(|log| -> CallHook { Box::new(move |call, make| log.record(call, make)) }),
        marks: marks
            .map(|mut marks| -> MarkHook { Box::new(move |line: &str| marks(MarkLine::of(line))) }),
    };
    let command = command.to_owned();
    explode_fuse::run(Program { command, environment, seed, files, out, err }, watch)
}

/// Runs a command beside this process.
fn beside(
    command: &str,
    devices: &dyn DiskSet,
    variables: &[Variable<'_>],
    out: File,
    err: File,
    receive: Option<&mut dyn FnMut(MarkLine<'_>)>,
) -> std::io::Result<ExitStatus> {
    let mut shell = Command::new("/bin/sh");
    let mut path = std::env::var("PATH").unwrap_or_default();
    if devices.kernel().is_some() {
        path = format!("{TOOLS}:{path}");
        shell.env("PATH", &path);
    }
    if std::process::id() == 1 {
        shell.env("PATH", format!("{GUEST_PROGRAMS}:{path}"));
        // The e2fsprogs take the time from these variables. Without them a second may pass while
        // they run.
        shell.env("E2FSPROGS_FAKE_TIME", NOW.to_string()).env("E2FSCK_TIME", NOW.to_string());
    }
    run_in_rootfs(&mut shell);
    hold_clock();
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(out).stderr(err);
    let mut files = Vec::new();
    for Variable { name, value } in variables {
        match value {
            VariableValue::Text(text) => shell.env(name, text),
            VariableValue::FileWith(text) => {
                let mut file = tempfile::NamedTempFile::new()?;
                file.write_all(text.as_bytes())?;
                shell.env(name, file.path());
                files.push(file);
                &mut shell
            }
        };
    }
    let beside_live = devices.kernel().is_some_and(|disks| disks.side() == Side::Crash);
    match receive {
        Some(receive) => {
            MARKS.with_borrow_mut(|marks| wait_with_requests(marks, &mut shell, receive))
        }
        None if beside_live => run_without_sync(shell),
        None => shell.status(),
    }
}

fn wait_with_requests(
    marks: &mut Option<Marks>,
    shell: &mut Command,
    receive: &mut dyn FnMut(MarkLine<'_>),
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
    marks.wait(shell, receive)
}

/// Returns the last line of a file that is open. Empty if there is none.
pub(super) fn last_line(file: &File) -> String {
    let text = file.try_clone().and_then(|mut file| contents(&mut file)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

fn contents(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Sets the machine's clock, which programs read, to a fixed time. Only a guest allows that, where
/// this is the first process.
pub fn hold_clock() {
    if std::process::id() == 1 {
        // If the clock cannot be set, a disk may differ, which the replay reports.
        clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::new(NOW as i64, 0)).ok();
    }
}
