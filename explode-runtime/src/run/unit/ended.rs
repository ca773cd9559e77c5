//! How a unit ended, and what leads to an error.

use explode_ramdisk::Event;
use serde::{Deserialize, Serialize};

use super::work::Place;
use crate::base::as_json;
use crate::choose::{Choice, Divergence};
use crate::crash::{Epoch, Kept};
use crate::verdict::{StepName, Violation};

/// How a unit ended.
#[derive(Debug)]
pub struct Ended {
    /// Every choice made.
    pub choices: Vec<Choice>,
    /// Calls of mutate that were explored.
    pub operations: u64,
    /// What ended it early, if anything did.
    pub early: Option<Early>,
    /// Every event from the pristine disks on, up to the last look at the log; empty unless they are kept.
    pub events: Vec<Event>,
}

/// Why a unit ended before its last mutate returned.
#[derive(Debug)]
pub enum Early {
    /// Crash checks have found something, or the unit was told not to go on.
    Stopped,
    /// A mutate has seen a broken promise itself, without a crash.
    Violated(Violation, Place),
    /// It did not go the way of its script.
    Diverged(Box<Divergence>),
    /// The checker, a component or the tool failed.
    Broken(String),
}

/// A violation with all that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFound {
    /// What is wrong.
    pub violation: Violation,
    /// The profile's line that excludes it, with its source, if there is one.
    pub by_design: Option<String>,
    /// The step that has ended the worker, or hung; none if the worker itself has seen the violation.
    pub died: Option<StepName>,
    /// What leads to it.
    pub way: Way,
}

impl ErrorFound {
    /// Is a violation of the same kind?
    pub(in crate::run) fn is_like(&self, violation: &Violation) -> bool {
        (self.violation.verdict, &self.violation.promise) == (violation.verdict, &violation.promise)
    }
}

/// What leads to an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// The epoch of the check; none without a crash.
    pub epoch: Option<Epoch>,
    /// The check's arguments.
    pub args: Vec<String>,
    /// The crash disk's identity and what it has kept; none without a crash.
    pub disk: Option<(String, Vec<Kept>)>,
    /// The same of each crash during recovery that followed.
    pub recovery: Vec<(String, Vec<Kept>)>,
    /// Every choice from the pristine disks on.
    #[serde(with = "as_json")]
    pub choices: Vec<Choice>,
    /// Where.
    pub place: Place,
    /// The hash of all events up to there.
    pub log_hash: u128,
}
