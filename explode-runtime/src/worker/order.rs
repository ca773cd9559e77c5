//! The orders that a worker carries out.

use serde::{Deserialize, Serialize};

use crate::explore::Unit;
use crate::verdict::{Broken, StepName, Violation, WorkerStep};

/// An order to run a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitOrder {
    /// The unit to run.
    pub unit: Unit,
    /// Checks that killed earlier workers, with their outcomes. The worker does not make them
    /// again.
    pub past: Vec<FatalCheck>,
    /// Steps that have killed a worker. Before each of them the worker sends a snapshot of the
    /// unit.
    pub snapshot_before: Vec<WorkerStep>,
    /// True if the worker reports each choice past the end of the script. Without these reports,
    /// the choices of a unit are lost if its worker dies.
    pub stream_choices: bool,
    /// True if each reached state carries a sketch.
    pub sketches: bool,
    /// True if the whole result of this worker's last unit is merged.
    pub last_counts: bool,
}

impl UnitOrder {
    /// Returns the order to run a unit, with all options off.
    pub fn new(unit: &Unit) -> UnitOrder {
        UnitOrder { unit: unit.clone(), ..UnitOrder::default() }
    }
}

/// A check that the worker does not make again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FatalCheck {
    /// The key of the check.
    pub key: u128,
    /// The number of crashes during recovery that led to its disk.
    pub crashes: u32,
    /// The outcome of the check.
    pub outcome: DeathOutcome,
}

/// The outcome of a step that has killed workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeathOutcome {
    /// An error of the checked system. The step killed a worker in a replay as well.
    Error(Violation, StepName),
    /// A failure of the tool. The step killed workers, but not in a replay.
    Broken(Broken),
}
