//! What a worker is to do.

use serde::{Deserialize, Serialize};

use crate::explore::Unit;
use crate::verdict::{Broken, StepName, Violation, WorkerStep};

/// What a worker is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitOrder {
    /// The unit that it runs.
    pub unit: Unit,
    /// Checks that have ended earlier workers, and what is said of them: they are not made again.
    pub past: Vec<FatalCheck>,
    /// Steps that have ended a worker once: before each, all that is known so far is said.
    pub snapshot_before: Vec<WorkerStep>,
    /// Shall the listener hear of each choice past the end of the script? What a unit has chosen
    /// when it dies is not known else.
    pub stream_choices: bool,
    /// Shall it get a sketch of each state?
    pub sketches: bool,
    /// The whole result of this worker's last unit is merged.
    pub last_counts: bool,
}

impl UnitOrder {
    /// To run a unit.
    pub fn new(unit: &Unit) -> UnitOrder {
        UnitOrder { unit: unit.clone(), ..UnitOrder::default() }
    }
}

/// A check that is not made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FatalCheck {
    /// The key of the check.
    pub key: u128,
    /// How many crashes during recovery led to its disk.
    pub crashes: u32,
    /// What is said of it.
    pub outcome: DeathOutcome,
}

/// What is said of a step that has ended workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeathOutcome {
    /// It does so each time: an error of the checked system, in this step.
    Error(Violation, StepName),
    /// It does so now and then.
    Broken(Broken),
}
