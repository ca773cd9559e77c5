//! The messages between supervisor and worker.

use serde::{Deserialize, Serialize};

use super::diagnostics::{DiagnosticsWanted, TakenDiagnostics};
use super::listener::WorkerStarted;
use super::order::UnitOrder;
use super::unit_result::{UnitResult, UnitSnapshot};
use crate::base::{RunError, UsageError, as_json};
use crate::choose::Choice;
use crate::dedup::KnownChecks;
use crate::plan::Plan;
use crate::trace::{ReplayResult, ReplaySource, Trace};
use crate::verdict::{Broken, BrokenKind, WorkerStep};
use crate::worker::probe::{ProbeCommand, ProbeOrder, ProbeReply};

/// A message to the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Keep these diagnostics from now on. At most once, before all other messages. No reply.
    Observe(DiagnosticsWanted),
    /// Start the stack of a plan. If true, results have the events of their units.
    Start(#[serde(with = "as_json")] Box<Plan>, bool),
    /// Remember that these checks are merged. No reply.
    Learn(KnownChecks),
    /// Run a unit.
    Run(Box<UnitOrder>),
    /// Replay a trace from a source.
    Replay(#[serde(with = "as_json")] Box<Trace>, ReplaySource),
    /// Run a path and stop at a disk of it. After [`ToWorker::Start`].
    Probe(#[serde(with = "as_json")] Box<ProbeOrder>),
    /// The next command, while the system stands still.
    Next(ProbeCommand),
    /// End the unit before its next check. No reply.
    Stop,
}

/// A message from the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The worker is ready. It has this version. This is the first message.
    Ready(String),
    /// The time at which the worker received its current order, in nanoseconds of its clock, and
    /// its diagnostics. Only if they are wanted.
    Observed(u64, Box<TakenDiagnostics>),
    /// The stack has started.
    Started(WorkerStarted),
    /// The requested start or replay has failed.
    Failed(WorkerError),
    /// A choice past the end of the script.
    Chose(#[serde(with = "as_json")] Choice),
    /// The next step and the number of checks that the unit has made. Only without a page.
    AboutTo(WorkerStep, u64),
    /// A snapshot of the unit before a step at which a worker has died.
    Snapshot(WorkerStep, Box<UnitSnapshot>),
    /// The unit has ended.
    End(Box<UnitResult>),
    /// The result of a replay.
    Replayed(#[serde(with = "as_json")] ReplayResult),
    /// Another walk of the unit begins. Later choices belong to it.
    NextWalk,
    /// A reply of a probe.
    Probe(#[serde(with = "as_json")] Box<ProbeReply>),
}

/// The reason why an order failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerError {
    /// Wrong names or options.
    Usage(String),
    /// A requirement is missing.
    Missing(String),
    /// The checker does not support the stack.
    Unsupported(String),
    /// A profile excludes all promises that the checker tests, with this line.
    NotPromised(String),
    /// The tool, a component or a worker failed.
    Broken(Broken),
}

impl From<RunError> for WorkerError {
    fn from(error: RunError) -> WorkerError {
        match error {
            RunError::Usage(UsageError(text)) => WorkerError::Usage(text),
            RunError::Missing(text) => WorkerError::Missing(text),
            RunError::Unsupported(text) => WorkerError::Unsupported(text),
            RunError::NotPromised(line) => WorkerError::NotPromised(line),
            other => WorkerError::Broken(
                other.as_broken().unwrap_or_else(|| BrokenKind::Tool.of(&other)),
            ),
        }
    }
}

impl From<WorkerError> for RunError {
    fn from(failed: WorkerError) -> RunError {
        match failed {
            WorkerError::Usage(text) => UsageError(text).into(),
            WorkerError::Missing(text) => RunError::Missing(text),
            WorkerError::Unsupported(text) => RunError::Unsupported(text),
            WorkerError::NotPromised(line) => RunError::NotPromised(line),
            WorkerError::Broken(broken) => broken.into(),
        }
    }
}
