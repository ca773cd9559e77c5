//! What goes between supervisor and worker.

use serde::{Deserialize, Serialize};

use super::diagnostics::{DiagnosticsWanted, TakenDiagnostics};
use super::listener::WorkerStarted;
use super::order::UnitOrder;
use super::unit_result::{UnitResult, UnitSnapshot};
use crate::base::{RunError, UsageError, as_json};
use crate::choose::Choice;
use crate::dedup::KnownChecks;
use crate::plan::Plan;
use crate::trace::{ReplayResult, Trace};
use crate::verdict::{Broken, BrokenKind, WorkerStep};
use crate::worker::probe::{ProbeCommand, ProbeOrder, ProbeReply};

/// What the supervisor says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Keep these diagnostics from now on; not answered. At most once, before all else.
    Observe(DiagnosticsWanted),
    /// Start the stack of a plan; with the events of each unit, if they are wanted.
    Start(#[serde(with = "as_json")] Box<Plan>, bool),
    /// These checks are merged.
    Know(KnownChecks),
    /// Run a unit.
    Run(Box<UnitOrder>),
    /// Replay a trace.
    Replay(#[serde(with = "as_json")] Box<Trace>),
    /// Run a way, and stand still at a disk of it; after [`ToWorker::Start`].
    Probe(#[serde(with = "as_json")] Box<ProbeOrder>),
    /// What to do next while the system stands still.
    Next(ProbeCommand),
    /// The unit shall end before its next check; not answered.
    Stop,
}

/// What the worker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromWorker {
    /// It is there, of this version. The first message of all.
    Ready(String),
    /// Its diagnostics, if they are wanted, and when it heard the word that it obeys, in
    /// nanoseconds of its clock.
    Observed(u64, Box<TakenDiagnostics>),
    /// Its stack has started.
    Started(WorkerStarted),
    /// The requested start or replay has failed.
    Failed(WorkerError),
    /// A choice past the end of the script.
    Chose(#[serde(with = "as_json")] Choice),
    /// The next step, and how many checks the unit has made; where there is no page for it.
    AboutTo(WorkerStep, u64),
    /// All that is known before a step that it is wary of.
    Wary(WorkerStep, Box<UnitSnapshot>),
    /// The unit has ended.
    End(Box<UnitResult>),
    /// The result of a replay.
    Replayed(#[serde(with = "as_json")] ReplayResult),
    /// Something about a probe.
    Probe(#[serde(with = "as_json")] Box<ProbeReply>),
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerError {
    /// Wrong names or options.
    Usage(String),
    /// A requirement is missing.
    Missing(String),
    /// The checker does not go with the stack.
    Unsupported(String),
    /// A profile excludes all promises that the checker is about, by this line.
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
