//! Runs the commands of a build. Their output goes to a log. An error contains the lines with the
//! reason.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::mem;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use super::complaints::Complaints;
use crate::base::{BuildProgress, ErrorContext, MORE_SPACE, Result, VmError, own_file, spawn};

/// The file that receives the output of a build.
pub(crate) struct BuildLog {
    path: PathBuf,
}

impl BuildLog {
    /// Makes an empty log.
    pub fn create(path: PathBuf) -> Result<Self> {
        own_file(&path).at("make", &path)?;
        Ok(Self { path })
    }

    /// Runs a command to its end, and appends its output. The command also ends if this process
    /// ends. If `expected` is not 0, each line of output is reported as progress, and `expected` is
    /// the estimated number of lines.
    pub fn run(
        &self,
        command: &mut Command,
        expected: u64,
        progress: &dyn BuildProgress,
    ) -> Result<()> {
        // The command is moved, so that nothing holds the writing ends of the pipe below once it
        // has run.
        let mut command = mem::replace(command, Command::new(""));
        let log = &self.path;
        let mut log_file = File::options().append(true).open(log).at("open", log)?;
        writeln!(log_file, "$ {}", shown(&command)).at("write", log)?;
        let (reader, writer) = std::io::pipe().doing("make a pipe")?;
        let name = program(&command);
        command.stdin(Stdio::null()).stdout(writer.try_clone().doing("use a pipe")?).stderr(writer);
        // Make and cargo end their own children when they get this signal.
        let mut child =
            spawn(command, Signal::SIGTERM).map_err(|error| not_started(&name, &error))?;
        let mut complaints = Complaints::default();
        let mut lines = 0;
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        let mut logged = Ok(());
        while reader.read_until(b'\n', &mut line).doing("read from a pipe")? > 0 {
            // If the log cannot be written, reading continues, so that the command ends normally.
            logged = logged.and_then(|()| log_file.write_all(&line));
            complaints.line(&String::from_utf8_lossy(&line));
            line.clear();
            lines += 1;
            if expected > 0 {
                progress.tick(lines, expected);
            }
        }
        let status = child.wait().doing(format_args!("wait for {name}"))?;
        if !status.success() {
            let full = complaints.ends_with("No space left on device");
            let space = if full { format!("; {MORE_SPACE}") } else { String::new() };
            let (heading, lines) = complaints.into_lines();
            let text = format!("{name} failed ({status}){space}");
            return Err(VmError::Build { text, heading, lines, log: log.clone() });
        }
        logged.at("write", log)
    }
}

/// Returns the standard output of a short command, which must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = program(command);
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| not_started(&name, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(VmError::Broken {
        text: format!("{} failed ({})", shown(command), output.status),
        tail: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn not_started(name: &str, error: &std::io::Error) -> VmError {
    VmError::missing(
        format!("{name} cannot be run: {error}"),
        "`explode doctor` says what to install",
    )
}

fn shown(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    words.join(" ")
}
