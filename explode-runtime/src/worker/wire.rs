//! What goes between supervisor and worker.

use serde::{Deserialize, Serialize};

use super::diagnostics::{Taken, Wanted};
use super::listener::Started;
use super::order::Order;
use super::unit_result::{Snapshot, UnitResult};
use crate::base::{RunError, UsageError, as_json};
use crate::choose::Choice;
use crate::dedup::Known;
use crate::plan::Plan;
use crate::trace::{Replay, Trace};
use crate::verdict::{Broken, BrokenKind, Step};
use crate::worker::probe::{Next, Probe, ProbeSaid};

/// What the supervisor says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Keep these diagnostics from now on; not answered. At most once, before all else.
    Observe(Wanted),
    /// Start the stack of a plan; with the events of each unit, if they are wanted.
    Start(#[serde(with = "as_json")] Box<Plan>, bool),
    /// These checks are merged.
    Know(Known),
    /// Run a unit.
    Run(Box<Order>),
    /// Replay a trace.
    Replay(#[serde(with = "as_json")] Box<Trace>),
    /// Run a way, and stand still at a disk of it; after [`ToWorker::Start`].
    Probe(#[serde(with = "as_json")] Box<Probe>),
    /// What to do next while the system stands still.
    Next(Next),
    /// The unit shall end before its next check; not answered.
    Stop,
}

/// What the worker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// It is there, of this version. The first message of all.
    Ready(String),
    /// Its diagnostics, if they are wanted, and when it heard the word that it obeys, in
    /// nanoseconds of its clock.
    Observed(u64, Box<Taken>),
    /// Its stack has started.
    Started(Started),
    /// The requested start or replay has failed.
    Failed(Failed),
    /// A choice past the end of the script.
    Chose(#[serde(with = "as_json")] Choice),
    /// The next step, and how many checks the unit has made; where there is no page for it.
    AboutTo(Step, u64),
    /// All that is known before a step that it is wary of.
    Wary(Step, Box<Snapshot>),
    /// The unit has ended.
    End(Box<UnitResult>),
    /// The result of a replay.
    Replayed(#[serde(with = "as_json")] Replay),
    /// Something about a probe.
    Probe(#[serde(with = "as_json")] Box<ProbeSaid>),
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failed {
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

impl From<RunError> for Failed {
    fn from(error: RunError) -> Failed {
        match error {
            RunError::Usage(UsageError(text)) => Failed::Usage(text),
            RunError::Missing(text) => Failed::Missing(text),
            RunError::Unsupported(text) => Failed::Unsupported(text),
            RunError::NotPromised(line) => Failed::NotPromised(line),
            other => {
                Failed::Broken(other.as_broken().unwrap_or_else(|| BrokenKind::Tool.of(&other)))
            }
        }
    }
}

impl From<Failed> for RunError {
    fn from(failed: Failed) -> RunError {
        match failed {
            Failed::Usage(text) => UsageError(text).into(),
            Failed::Missing(text) => RunError::Missing(text),
            Failed::Unsupported(text) => RunError::Unsupported(text),
            Failed::NotPromised(line) => RunError::NotPromised(line),
            Failed::Broken(broken) => broken.into(),
        }
    }
}
