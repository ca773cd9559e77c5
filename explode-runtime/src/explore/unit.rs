//! States and units of work.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::base::as_json;
use crate::choose::{Choice, Policy, choices_hash};

/// A state: the choices that lead to it from the pristine disks (EX-51).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// All choices from the pristine disks on.
    #[serde(with = "as_json")]
    pub choices: Vec<Choice>,
    /// The number of calls of mutate that made the choices.
    pub depth: u32,
}

/// A unit of work: restore a state, then call mutate. Its result is a function of the unit and of
/// the options of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The state with which the unit begins. Its checks have been made.
    pub state: State,
    /// The first answers after those of the state.
    #[serde(with = "as_json")]
    pub script: Vec<Choice>,
    /// The number of calls of mutate.
    pub mutates: u32,
    /// The policy that answers the points past the end of the script.
    pub policy: Policy,
    /// The number of walks that follow the first one, each from the pristine disks, with the next
    /// number of the policy. Only a system whose walks are cheap gets any.
    #[serde(default)]
    pub further_walks: u32,
    /// The disks that the unit checks.
    #[serde(default)]
    pub disks: UnitDisks,
}

/// The disks that a unit checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnitDisks {
    /// Crash disks, each followed by the disks that crashes during its recovery leave.
    #[default]
    All,
    /// Crash disks alone.
    Outermost,
    /// The disks that crashes during recovery leave. A unit with the same choices has checked the
    /// crash disks, and only its counts of them, of its states and of its mutates are used.
    Nested,
}

/// The identity of a unit: a hash of all its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnitId(pub u128);

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Unit {
    /// Returns the unit of one mutate from a state, with the policy [`Policy::First`].
    pub fn one(state: State, script: Vec<Choice>) -> Unit {
        Unit { state, script, mutates: 1, ..Unit::default() }
    }

    /// Returns the identity of the unit.
    pub fn id(&self) -> UnitId {
        let Unit { state, script, mutates, policy, further_walks, disks } = self;
        let policy =
            serde_json::to_vec(&(policy, disks, further_walks)).expect("a policy is plain data");
        let parts = [
            choices_hash(&state.choices),
            choices_hash(script),
            u128::from(state.depth),
            u128::from(*mutates),
            xxh3_128(&policy),
        ];
        UnitId(xxh3_128(&parts.map(u128::to_le_bytes).concat()))
    }
}
