//! The programs that make and repair file systems.

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

use super::determinism::{self, Opens};

/// A program and its arguments, but for the device.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    program: &'static str,
    /// Separated by spaces.
    arguments: Cow<'static, str>,
    /// How lines begin that say how far it is, and no more.
    progress: &'static [&'static str],
    /// Words that it says only of what it has found, whatever its exit code.
    finds: Option<&'static str>,
    /// Time stands still for it, and nothing is random.
    still: Option<Opens>,
}

/// Where programs are.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

impl Tool {
    /// The program, and its arguments separated by spaces.
    pub fn new(program: &'static str, arguments: impl Into<Cow<'static, str>>) -> Tool {
        Tool { program, arguments: arguments.into(), progress: &[], finds: None, still: None }
    }

    /// In what it has said, lines that begin like one of these are passed over.
    pub fn without(self, progress: &'static [&'static str]) -> Tool {
        Tool { progress, ..self }
    }

    /// The same; where it says these words it has found something, whatever its exit code.
    pub fn finding(self, words: &'static str) -> Tool {
        Tool { finds: Some(words), ..self }
    }

    /// The words by which it tells that it has found something, if its exit code does not.
    pub fn finds(&self) -> Option<&'static str> {
        self.finds
    }

    /// The same, [held still](super::determinism).
    pub fn still(self) -> Tool {
        Tool { still: Some(Opens::Watched), ..self }
    }

    /// The same, for a program that opens no device of random numbers: it runs faster.
    pub fn still_with_free_opens(self) -> Tool {
        Tool { still: Some(Opens::Free), ..self }
    }

    /// The program and its arguments, as a user writes them: of a static program that is a copy,
    /// the usual one.
    pub fn line(&self) -> String {
        let name = self.program.rsplit('/').next().unwrap_or(self.program);
        format!("{} {}", name.strip_suffix(".static").unwrap_or(name), self.arguments)
    }

    /// Where the program is; its name if that is nowhere.
    pub fn path(&self) -> PathBuf {
        let mut paths = FOLDERS.iter().map(|folder| Path::new(folder).join(self.program));
        paths.find(|path| path.exists()).unwrap_or_else(|| self.program.into())
    }

    /// What is to be started.
    pub fn command(&self, device: &Path) -> Command {
        // By its path: one that is looked for while it is started needs a real fork.
        let mut command = Command::new(self.path());
        command
            .args(self.arguments.split_whitespace())
            .arg(device)
            .env("PATH", FOLDERS.join(":"))
            .env("LC_ALL", "C")
            // The e2fsprogs take the time from here.
            .env("E2FSPROGS_FAKE_TIME", NOW.to_string())
            .env("E2FSCK_TIME", NOW.to_string())
            .stdin(Stdio::null());
        command
    }

    /// Runs it on a device; returns its exit code, and the end of what it said: of 0 nothing,
    /// unless it has found something.
    ///
    /// # Errors
    /// It cannot be started, or was killed.
    pub fn run(&self, device: &Path) -> Result<(i32, String), StepError> {
        hold_clock();
        let ran = ToolOutput::new().and_then(|said| {
            let mut command = self.command(device);
            if let Some(opens) = self.still {
                return Ok((
                    determinism::run(&command, opens, said.0.as_fd(), said.0.as_fd())?,
                    said,
                ));
            }
            command.stdout(said.writer()?).stderr(said.writer()?);
            let status = run_without_sync(command);
            Ok((status?, said))
        });
        let failed =
            |error| StepError::new(format!("{self} cannot be started: {error}")).blame(Blame::Tool);
        let (status, said) = ran.map_err(failed)?;
        match (status.code(), status.signal()) {
            (Some(0), _) if self.finds.is_none() => Ok((0, String::new())),
            (Some(code), _) => {
                let text = said.text();
                let clean = code == 0 && !self.finds.is_some_and(|words| text.contains(words));
                Ok((code, if clean { String::new() } else { last_lines(&text, self.progress) }))
            }
            (None, signal) => Err(StepError::new(format!(
                "{self} was killed by signal {}: {}",
                signal.unwrap_or(0),
                last_lines(&said.text(), self.progress)
            ))),
        }
    }
}

/// What a program says, in a file in memory: a pipe would wake us at each word of it.
struct ToolOutput(File);

impl ToolOutput {
    fn new() -> io::Result<ToolOutput> {
        Ok(ToolOutput(memfd_create(c"said", MFdFlags::MFD_CLOEXEC)?.into()))
    }

    /// Output and errors share one place in the file.
    fn writer(&self) -> io::Result<Stdio> {
        self.0.try_clone().map(Stdio::from)
    }

    fn text(mut self) -> String {
        let mut said = Vec::new();
        // What cannot be read is only missed in a message.
        self.0.seek(SeekFrom::Start(0)).and_then(|_| self.0.read_to_end(&mut said)).ok();
        String::from_utf8_lossy(&said).into_owned()
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program)
    }
}

/// The last three lines, which say what a program gave up for.
fn last_lines(text: &str, progress: &[&str]) -> String {
    let says_more = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !progress.iter().any(|prefix| line.starts_with(prefix))
    };
    let lines: Vec<&str> = text.trim().lines().filter(says_more).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}
