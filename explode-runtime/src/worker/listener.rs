//! The reports that a worker sends while it runs.

use serde::{Deserialize, Serialize};

use super::unit_result::UnitSnapshot;
use crate::base::{ExactCount, as_json};
use crate::choose::Choice;
use crate::plan::RunOrigin;
use crate::verdict::WorkerStep;

/// The first report of a worker: what it has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStarted {
    /// The versions and disks that the run begins with.
    pub origin: RunOrigin,
    /// State of components that the event log does not show. No crash disk contains changes to it.
    pub unobserved: Vec<String>,
    /// Calls that the stack does not have, and that the checker omits.
    pub unsupported_calls: Vec<String>,
    /// The number of mutates of a complete run on paths of 1, 2, 3 and more mutates, as far as they
    /// were counted.
    #[serde(with = "as_json")]
    pub forecast: Vec<ExactCount>,
    /// The reason why every check is made; `None` if checks with a known verdict are skipped.
    pub why_every_check_is_made: Option<String>,
}

/// Receives a unit's progress and answers its requests.
pub trait UnitListener {
    /// Receives a choice past the end of the script, if the order [requests
    /// it](super::UnitOrder::stream_choices).
    fn chose(&mut self, _choice: &Choice) {}

    /// Learns that another walk begins, to which later choices belong.
    fn next_walk(&mut self) {}

    /// Receives the next step and the number of checks that the unit has made. Called more than
    /// once for each step, so that the listener can watch the time.
    fn next_step(&mut self, step: WorkerStep, checked: u64);

    /// Receives a snapshot of the unit before a step at which a worker has died.
    fn snapshot_before(&mut self, _step: WorkerStep, _snapshot: UnitSnapshot) {}

    /// Returns true if the unit must end before its next check.
    fn stop(&mut self) -> bool;
}
