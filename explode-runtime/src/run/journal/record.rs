//! What a journal has in it: which run it is, and the units that have ended.

use serde::{Deserialize, Serialize};

use crate::base::as_json;
use crate::explore::{Unit, UnitId};
use crate::plan::{Origin, Plan};
use crate::run::findings::FindingsChange;
use crate::run::totals::Merged;

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
    /// Which unit it is: a strategy that goes another way when it is repeated is found out by it.
    pub unit: UnitId,
    /// What it has added.
    pub merged: Merged,
    pub findings: FindingsChange,
    /// Since the run began.
    pub elapsed_ms: u64,
}

impl Record {
    pub fn new(unit: &Unit, merged: Merged, findings: FindingsChange, elapsed_ms: u64) -> Record {
        Record { unit: unit.id(), merged, findings, elapsed_ms }
    }
}
