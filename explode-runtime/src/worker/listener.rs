//! What a worker reports while it runs.

use serde::{Deserialize, Serialize};

use super::unit_result::Snapshot;
use crate::choose::Choice;
use crate::plan::Origin;
use crate::verdict::Step;

/// What a worker says of what it has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// What the run begins with.
    pub origin: Origin,
    /// What the components keep where no event shows it.
    pub hides: Vec<String>,
    /// What the stack does not have, and the checker does without.
    pub leaves_out: Vec<String>,
    /// Why every check is made; none if those are skipped whose verdict is known.
    pub not_skipping: Option<String>,
}

/// Hears of a unit while it runs.
pub trait Listener {
    /// A choice past the end of the script, if [they are wanted](super::Order::stream_choices).
    fn chose(&mut self, _choice: &Choice) {}

    /// The next step; the unit has made so many checks. Called more often than that, so that the
    /// listener can follow the time.
    fn about_to(&mut self, step: Step, checked: u64);

    /// All that is known before a step that the worker is wary of.
    fn wary(&mut self, _step: Step, _snapshot: Snapshot) {}

    /// Shall the unit end before its next check?
    fn stop(&mut self) -> bool;
}
