//! What goes between host and agent: one JSON object a line. The host gives a task; the agent calls, and waits for each answer.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use explode_ramdisk::Event;
use explode_runtime::report::Message;
use explode_runtime::run::{BenchReport, Confirmation, Plan, Restore, RunError, UsageError};
use explode_runtime::trace::{Replay, Trace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What the host wants done.
#[derive(Debug, Serialize, Deserialize)]
pub enum Task {
    /// Explore this plan; with the events of each unit of work, if they are wanted.
    Run(Box<Plan>, bool),
    /// Replay this trace.
    Replay(Box<Trace>),
    /// Measure this plan, by rounds of so many crash disks.
    Bench(Box<Plan>, u64),
    /// Measure restoring disks.
    BenchRestore,
}

/// What the agent says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Call {
    /// It is there, of this version. The first call of all.
    Ready(String),
    /// The run begins: make its folder.
    Open(String),
    /// A message of the run.
    Tell(Box<Message>),
    /// A finding: keep its trace.
    Keep(String, Box<Trace>),
    /// Replay a trace that was kept, in another guest.
    Confirm(PathBuf),
    /// The events of a unit of work.
    Events(Vec<Event>),
    /// The task is done; the last call.
    Done(Result<Done, Failed>),
}

/// What the host answers to a call.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Go on.
    Ok,
    /// Where it was kept.
    At(PathBuf),
    /// What the replay said.
    Confirmed(Confirmation),
}

/// What came of a task.
#[derive(Debug, Serialize, Deserialize)]
pub enum Done {
    /// The summary was the last message.
    Run,
    /// What the replay came to.
    Replay(Replay),
    /// What was measured.
    Bench(Box<BenchReport>),
    /// What was measured of each size.
    BenchRestore(Vec<Restore>),
}

/// Why a task could not be done.
#[derive(Debug, Serialize, Deserialize)]
pub enum Failed {
    /// Wrong names or options.
    Usage(String),
    /// A requirement is missing.
    Missing(String),
    /// The tool or a component failed.
    Broken(String),
}

impl From<RunError> for Failed {
    fn from(error: RunError) -> Failed {
        match error {
            RunError::Usage(UsageError(text)) => Failed::Usage(text),
            RunError::Missing(text) => Failed::Missing(text),
            other => Failed::Broken(other.to_string()),
        }
    }
}

impl From<Failed> for RunError {
    fn from(failed: Failed) -> RunError {
        match failed {
            Failed::Usage(text) => UsageError(text).into(),
            Failed::Missing(text) => RunError::Missing(text),
            Failed::Broken(text) => RunError::Broken(text),
        }
    }
}

/// Sends a line.
///
/// # Errors
/// The other side is gone.
pub fn send(to: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Receives a line; none when the other side has ended.
///
/// # Errors
/// The other side is gone, or says what nobody understands.
pub fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}
