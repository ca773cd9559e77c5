//! How a unit ended, and what leads to an error.

use explode_ramdisk::Event;

use crate::choose::{Choice, Divergence};
use crate::trace::Position;
use crate::verdict::{Broken, Violation};

/// How a unit ended.
#[derive(Debug)]
pub struct UnitRun {
    /// Every choice made.
    pub choices: Vec<Choice>,
    /// Calls of mutate that were explored.
    pub operations: u64,
    /// What ended it early, if anything did.
    pub early: Option<UnitStop>,
    /// Every event from the pristine disks on, up to the last look at the log; empty unless they
    /// are kept.
    pub events: Vec<Event>,
}

/// Why a unit ended before its last mutate returned.
#[derive(Debug)]
pub enum UnitStop {
    /// Crash checks have found something, or the unit was asked to end.
    Stopped,
    /// A mutate has seen a broken promise itself, without a crash.
    Violated(Violation, Position),
    /// It did not go the way of its script.
    Diverged(Box<Divergence>),
    /// The checker, a component or the tool failed.
    Broken(Broken),
}
