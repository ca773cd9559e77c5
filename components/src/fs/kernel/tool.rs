//! The programs that make and repair file systems.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use explode_runtime::devices::NOW;
use explode_runtime::recover::{Blame, Fault};
use explode_runtime::shell::{hold_clock, without_sync};

/// A program and its arguments, but for the device.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    program: &'static str,
    arguments: Vec<OsString>,
}

impl Tool {
    /// The program, and its arguments separated by spaces.
    pub fn new(program: &'static str, arguments: &str) -> Tool {
        Tool { program, arguments: arguments.split_whitespace().map(Into::into).collect() }
    }

    /// Runs it on a device; returns its exit code, and the end of what it said.
    ///
    /// # Errors
    /// It cannot be started, or was killed.
    pub fn run(&self, device: &Path) -> Result<(i32, String), Fault> {
        hold_clock();
        let mut command = Command::new(self.program);
        let ran = without_sync(&mut command)
            .args(&self.arguments)
            .arg(device)
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C")
            // The e2fsprogs take the time from here.
            .env("E2FSPROGS_FAKE_TIME", NOW.to_string())
            .env("E2FSCK_TIME", NOW.to_string())
            .stdin(Stdio::null())
            .output()
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

/// The last three lines, which say what a program gave up for.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}
