//! What a worker reports while it runs.

use serde::{Deserialize, Serialize};

use super::unit_result::Snapshot;
use crate::choose::Choice;
use crate::plan::Origin;
use crate::verdict::Step;

/// The first report of a worker: what it has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The versions and disks that the run begins with.
    pub origin: Origin,
    /// State of components that the event log does not show. No crash disk contains changes to it.
    pub hides: Vec<String>,
    /// Calls that the stack does not have, and that the checker omits.
    pub leaves_out: Vec<String>,
    /// Why every check is run; `None` if checks with a known verdict are skipped.
    pub not_skipping: Option<String>,
}

/// Receives a unit's progress and answers its requests.
pub trait Listener {
    /// Receives a choice past the end of the script, if [asked for](super::Order::stream_choices).
    fn chose(&mut self, _choice: &Choice) {}

    /// Receives the next step, and how many checks the unit has made. Called more often than once a
    /// step, so that the listener can watch the time.
    fn about_to(&mut self, step: Step, checked: u64);

    /// Receives everything that is known before a step at which a worker has died.
    fn wary(&mut self, _step: Step, _snapshot: Snapshot) {}

    /// Returns true if the unit must end before its next check.
    fn stop(&mut self) -> bool;
}
