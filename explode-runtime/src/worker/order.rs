//! What a worker is to do.

use serde::{Deserialize, Serialize};

use crate::base::as_json;
use crate::choose::Choice;
use crate::explore::{State, Unit, Wants};
use crate::verdict::{Broken, Step, StepName, Violation};

/// What a worker is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The choices that lead to the state, and how many calls of mutate they belong to.
    #[serde(with = "as_json")]
    pub(super) state: (Vec<Choice>, u32),
    #[serde(with = "as_json")]
    pub(super) script: Vec<Choice>,
    pub(super) mutates: u32,
    /// Checks that have ended earlier workers, and what is said of them: they are not made again.
    pub past: Vec<Past>,
    /// Steps that have ended a worker once: before each, all that is known so far is said.
    pub wary: Vec<Step>,
    /// Shall the listener answer points past the end of the script? If not, the answer is the first option.
    pub ask: bool,
    /// Shall it get a sketch of each state?
    pub sketches: bool,
    /// A unit that is run ahead: it does not follow the one that was run ahead before.
    pub apart: bool,
}

impl Order {
    /// To run a unit.
    pub fn new(unit: &Unit, wants: Wants) -> Order {
        let state = (unit.state.choices.clone(), unit.state.depth);
        let (script, mutates) = (unit.script.clone(), unit.mutates);
        let Wants { points: ask, sketches } = wants;
        Order { state, script, mutates, past: Vec::new(), wary: Vec::new(), ask, sketches, apart: false }
    }

    /// To run one ahead of its turn; `apart` if it does not follow the one that was run ahead before.
    pub fn ahead(unit: &Unit, apart: bool) -> Order {
        Order { apart, ..Order::new(unit, Wants::default()) }
    }

    /// The unit.
    pub fn unit(&self) -> Unit {
        let (choices, depth) = self.state.clone();
        Unit { state: State { choices, depth }, script: self.script.clone(), mutates: self.mutates }
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
