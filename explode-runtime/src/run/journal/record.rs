//! What a journal has in it: which run it is, and the units that have ended.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::base::as_json;
use crate::choose::choices_hash;
use crate::explore::{Arrival, Reached, Unit};
use crate::plan::{Origin, Plan};
use crate::run::findings::FindingsChange;
use crate::worker::UnitEnd;

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub explode: String,
    #[serde(with = "as_json")]
    pub plan: Plan,
    pub origin: Origin,
}

impl Header {
    /// That of a run of this version.
    pub fn of(plan: &Plan, origin: &Origin) -> Header {
        let explode = env!("CARGO_PKG_VERSION").to_owned();
        Header { explode, plan: plan.clone(), origin: origin.clone() }
    }
}

/// A unit that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::run) struct Record {
    /// Which unit it is.
    pub unit: u128,
    /// What it came to, with the choices after those of its state, without what is told elsewhere.
    pub end: UnitEnd,
    pub reached: Reached,
    /// The states on its way.
    pub arrivals: Vec<(Arrival, Reached)>,
    pub findings: FindingsChange,
    /// Since the run began.
    pub elapsed_ms: u64,
}

impl Record {
    pub fn new(
        unit: &Unit,
        mut end: UnitEnd,
        reached: Reached,
        arrivals: Vec<(Arrival, Reached)>,
        findings: FindingsChange,
        elapsed_ms: u64,
    ) -> Record {
        end.choices.drain(..unit.state.choices.len().min(end.choices.len()));
        end.errors.clear();
        end.broken.clear();
        end.events.clear();
        Record { unit: identity(unit), end, reached, arrivals, findings, elapsed_ms }
    }
}

/// A hash of a unit: a strategy that goes another way when it is repeated is found out by it.
pub(in crate::run) fn identity(unit: &Unit) -> u128 {
    let Unit { state, script, mutates } = unit;
    let parts =
        [choices_hash(&state.choices), choices_hash(script), u128::from(state.depth), u128::from(*mutates)];
    xxh3_128(&parts.map(u128::to_le_bytes).concat())
}
