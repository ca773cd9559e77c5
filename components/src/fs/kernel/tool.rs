//! The programs that make and repair file systems.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use explode_runtime::devices::NOW;
use explode_runtime::recover::{Blame, Fault};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_settime};

use super::no_sync::output_without_sync;

/// A program and its arguments, but for the device.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    program: &'static str,
    /// Separated by spaces.
    arguments: String,
}

/// Where programs are.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

impl Tool {
    /// The program, and its arguments separated by spaces.
    pub fn new(program: &'static str, arguments: &str) -> Tool {
        Tool { program, arguments: arguments.to_owned() }
    }

    /// What is to be started.
    pub fn command(&self, device: &Path) -> Command {
        // By its path: one that is looked for while it is started needs a real fork.
        let paths = FOLDERS.iter().map(|folder| Path::new(folder).join(self.program));
        let path = paths.into_iter().find(|path| path.exists());
        let mut command = Command::new(path.unwrap_or_else(|| self.program.into()));
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

    /// Runs it on a device; returns its exit code, and the end of what it said.
    ///
    /// # Errors
    /// It cannot be started, or was killed.
    pub fn run(&self, device: &Path) -> Result<(i32, String), Fault> {
        hold_clock();
        let ran = output_without_sync(self.command(device))
            .map_err(|error| Fault::new(format!("{self} cannot be started: {error}")).blame(Blame::Tool))?;
        let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).trim().to_owned();
        match (ran.status.code(), ran.status.signal()) {
            (Some(code), _) => Ok((code, last_lines(&said))),
            (None, signal) => Err(Fault::new(format!(
                "{self} was killed by signal {}: {}",
                signal.unwrap_or(0),
                last_lines(&said)
            ))),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program)
    }
}

/// Programs read the machine's clock, which only a guest of ours lets us set: there we are the first process.
fn hold_clock() {
    if std::process::id() == 1 {
        // A clock that cannot be set makes a disk that differs, which the replay then says.
        clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::new(NOW as i64, 0)).ok();
    }
}

/// The last three lines, which say what a program gave up for.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}
