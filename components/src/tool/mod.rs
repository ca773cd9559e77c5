//! Programs of the system that make and repair layers of storage.

mod determinism;
mod traced;

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{hold_clock, run_without_sync};
use explode_runtime::base::{Blame, StepError};
use explode_runtime::devices::NOW;
use nix::sys::memfd::{MFdFlags, memfd_create};

use determinism::Opens;

/// A program and its arguments, without the device.
#[derive(Clone, Debug)]
pub struct Tool {
    program: &'static str,
    /// The arguments, separated by spaces.
    arguments: Cow<'static, str>,
    /// The beginnings of lines that only report progress.
    progress: &'static [&'static str],
    /// Words that the program prints only if it has found something, whatever its exit code.
    finds: Option<&'static str>,
    /// The mode in which the program runs with time held still. `None` for a normal run.
    still: Option<Opens>,
}

/// The folders of the programs.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

impl Tool {
    /// Makes a tool from the program and its arguments, which are separated by spaces.
    pub fn new(program: &'static str, arguments: impl Into<Cow<'static, str>>) -> Tool {
        Tool { program, arguments: arguments.into(), progress: &[], finds: None, still: None }
    }

    /// Skips output lines that begin like one of these.
    pub fn without(self, progress: &'static [&'static str]) -> Tool {
        Tool { progress, ..self }
    }

    /// Sets the words that mean that the program has found something, whatever its exit code.
    pub fn finding(self, words: &'static str) -> Tool {
        Tool { finds: Some(words), ..self }
    }

    /// Returns the words that mean that the program has found something. `None` if its exit code
    /// shows it.
    pub fn finds(&self) -> Option<&'static str> {
        self.finds
    }

    /// Makes the tool [deterministic](determinism).
    pub fn still(self) -> Tool {
        Tool { still: Some(Opens::Watched), ..self }
    }

    /// Makes a tool deterministic that opens no device of random numbers. It runs faster.
    pub fn still_with_free_opens(self) -> Tool {
        Tool { still: Some(Opens::Free), ..self }
    }

    /// Returns the program and its arguments as a user writes them. For a static copy of a program,
    /// the usual name.
    pub fn line(&self) -> String {
        let name = self.program.rsplit('/').next().unwrap_or(self.program);
        format!("{} {}", name.strip_suffix(".static").unwrap_or(name), self.arguments)
    }

    /// Returns the path of the program. Its name if it is in none of the folders.
    pub fn path(&self) -> PathBuf {
        let mut paths = FOLDERS.iter().map(|folder| Path::new(folder).join(self.program));
        paths.find(|path| path.exists()).unwrap_or_else(|| self.program.into())
    }

    /// Adds arguments, which are separated by spaces.
    pub fn and(self, more: &str) -> Tool {
        Tool { arguments: format!("{} {more}", self.arguments).into(), ..self }
    }

    /// Runs the program on a device. It must end with 0.
    ///
    /// # Errors
    /// It ends with another code, or cannot be run.
    pub fn must(&self, device: &Path) -> Result<(), StepError> {
        match self.run(device)? {
            (0, _) => Ok(()),
            (code, output) => Err(StepError::new(format!("{self} ended with {code}: {output}"))),
        }
    }

    /// Builds the command for these devices.
    pub fn command(&self, devices: &[&Path]) -> Command {
        // The program has a full path, because a search during the start needs a real fork.
        let mut command = Command::new(self.path());
        command
            .args(self.arguments.split_whitespace())
            .args(devices)
            .env("PATH", FOLDERS.join(":"))
            .env("LC_ALL", "C")
            // The e2fsprogs take the time from these variables.
            .env("E2FSPROGS_FAKE_TIME", NOW.to_string())
            .env("E2FSCK_TIME", NOW.to_string())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program on a device. Returns its exit code and the end of its output. The output is
    /// empty if the exit code is 0 and the program has found nothing.
    ///
    /// # Errors
    /// The program cannot be started, or was killed.
    pub fn run(&self, device: &Path) -> Result<(i32, String), StepError> {
        self.run_on(&[device])
    }

    /// Runs the program on several devices, like [`run`](Tool::run).
    ///
    /// # Errors
    /// The program cannot be started, or was killed.
    pub fn run_on(&self, devices: &[&Path]) -> Result<(i32, String), StepError> {
        hold_clock();
        let ran = ToolOutput::new().and_then(|output| {
            let mut command = self.command(devices);
            if let Some(opens) = self.still {
                return Ok((
                    determinism::run(&command, opens, output.0.as_fd(), output.0.as_fd())?,
                    output,
                ));
            }
            command.stdout(output.writer()?).stderr(output.writer()?);
            let status = run_without_sync(command);
            Ok((status?, output))
        });
        let failed =
            |error| StepError::new(format!("{self} cannot be started: {error}")).blame(Blame::Tool);
        let (status, output) = ran.map_err(failed)?;
        match (status.code(), status.signal()) {
            (Some(0), _) if self.finds.is_none() => Ok((0, String::new())),
            (Some(code), _) => {
                let text = output.text();
                let clean = code == 0 && !self.finds.is_some_and(|words| text.contains(words));
                Ok((code, if clean { String::new() } else { last_lines(&text, self.progress) }))
            }
            (None, signal) => Err(StepError::new(format!(
                "{self} was killed by signal {}: {}",
                signal.unwrap_or(0),
                last_lines(&output.text(), self.progress)
            ))),
        }
    }
}

/// The output of a program in a file in memory. A pipe would wake this process at each write.
struct ToolOutput(File);

impl ToolOutput {
    fn new() -> io::Result<ToolOutput> {
        Ok(ToolOutput(memfd_create(c"said", MFdFlags::MFD_CLOEXEC)?.into()))
    }

    /// Returns a handle for standard output or standard error, which share one position in the
    /// file.
    fn writer(&self) -> io::Result<Stdio> {
        self.0.try_clone().map(Stdio::from)
    }

    fn text(mut self) -> String {
        let mut bytes = Vec::new();
        // Output that cannot be read is only missing in a message.
        self.0.seek(SeekFrom::Start(0)).and_then(|_| self.0.read_to_end(&mut bytes)).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program)
    }
}

/// Returns the last three lines, which contain the reason of a failure, without progress lines.
fn last_lines(text: &str, progress: &[&str]) -> String {
    let has_more = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !progress.iter().any(|prefix| line.starts_with(prefix))
    };
    let lines: Vec<&str> = text.trim().lines().filter(has_more).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}
