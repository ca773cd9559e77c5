//! What a worker is to do.

use serde::{Deserialize, Serialize};

use crate::explore::Unit;
use crate::verdict::{Broken, Step, StepName, Violation};

/// What a worker is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The unit that it runs.
    pub unit: Unit,
    /// Checks that have ended earlier workers, and what is said of them: they are not made again.
    pub past: Vec<Past>,
    /// Steps that have ended a worker once: before each, all that is known so far is said.
    pub wary: Vec<Step>,
    /// Shall the listener hear of each choice past the end of the script? What a unit has chosen
    /// when it dies is not known else.
    pub stream_choices: bool,
    /// Shall it get a sketch of each state?
    pub sketches: bool,
    /// The whole result of this worker's last unit is merged.
    pub last_counts: bool,
}

impl Order {
    /// To run a unit.
    pub fn new(unit: &Unit) -> Order {
        Order { unit: unit.clone(), ..Order::default() }
    }
}

/// A check that is not made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The key of the check.
    pub key: u128,
    /// How many crashes during recovery led to its disk.
    pub crashes: u32,
    /// What is said of it.
    pub outcome: Outcome,
}

/// What is said of a step that has ended workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It does so each time: an error of the checked system, in this step.
    Error(Violation, StepName),
    /// It does so now and then.
    Broken(Broken),
}
