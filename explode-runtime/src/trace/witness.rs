//! A violation with everything that leads to it.

use serde::{Deserialize, Serialize};

use crate::base::as_json;
use crate::choose::Choice;
use crate::crash::{Epoch, KeptPiece};
use crate::verdict::{StepName, Violation, WorkerStep};

/// A violation with everything that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundError {
    /// The violation that was found.
    pub violation: Violation,
    /// The profile's line that excludes it, with its source. `None` if no line does.
    pub by_design: Option<String>,
    /// The step that ended the worker, or hung. `None` if the worker itself found the violation.
    pub died: Option<StepName>,
    /// The path to the violation.
    pub way: Witness,
}

impl FoundError {
    /// Returns true if the violation is of the same kind.
    pub(crate) fn is_like(&self, violation: &Violation) -> bool {
        (self.violation.verdict, &self.violation.promise) == (violation.verdict, &violation.promise)
    }
}

/// The path to an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The epoch of the check. `None` without a crash.
    pub epoch: Option<Epoch>,
    /// The check's arguments.
    pub args: Vec<String>,
    /// The identity of the crash disk and the pieces that it has kept. `None` without a crash.
    pub disk: Option<(String, Vec<KeptPiece>)>,
    /// The identity and the kept pieces of the disk of each crash during recovery that followed.
    pub recovery: Vec<(String, Vec<KeptPiece>)>,
    /// Every choice from the pristine disks on.
    #[serde(with = "as_json")]
    pub choices: Vec<Choice>,
    /// The place of the error on that path.
    pub place: Position,
    /// The hash of all events up to the error.
    pub log_hash: u128,
}

/// The place of an event in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The number of calls of mutate so far, including the current one.
    pub mutates: u32,
    /// The index of the request for crash checks, from the beginning of the run.
    pub interval: u64,
    /// The number of chops so far that `--chop` demands, including one that is not finished.
    pub chops: u32,
    /// True after a chop that the checker demands, which follows the first mutate.
    pub remounted: bool,
}

impl Position {
    /// Returns the step of the call of mutate at this place.
    pub(crate) fn step(self) -> WorkerStep {
        WorkerStep::Mutate { mutates: self.mutates, interval: self.interval }
    }

    /// Returns the step of the chop that follows this place.
    pub(crate) fn chop(self) -> WorkerStep {
        WorkerStep::Chop { mutates: self.mutates }
    }
}
