//! The result of a unit, and the reasons why it ended.

use explode_ramdisk::Event;

use crate::choose::{Choice, Divergence};
use crate::trace::Position;
use crate::verdict::{Broken, Violation};

/// The end of a unit as the system reports it. The worker makes its
/// [result](crate::worker::UnitResult) from this and from the checks.
#[derive(Debug)]
pub struct UnitRun {
    /// All choices made.
    pub choices: Vec<Choice>,
    /// The number of calls of mutate that were explored.
    pub operations: u64,
    /// The reason why the unit ended early. `None` if it completed.
    pub early: Option<UnitStop>,
    /// Every event from the pristine disks to the last reading of the log. Empty unless events are
    /// kept.
    pub events: Vec<Event>,
}

/// The reason why a unit ended before its last mutate returned.
#[derive(Debug)]
pub enum UnitStop {
    /// Crash checks made a finding, or the caller stopped the unit.
    Stopped,
    /// A mutate itself found a broken promise, without a crash.
    Violated(Violation, Position),
    /// The choices did not follow the script.
    Diverged(Box<Divergence>),
    /// The checker, a component or the tool failed.
    Broken(Broken),
}
