//! A violation with all that leads to it.

use serde::{Deserialize, Serialize};

use crate::base::as_json;
use crate::choose::Choice;
use crate::crash::{Epoch, KeptPiece};
use crate::verdict::{StepName, Violation, WorkerStep};

/// A violation with all that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundError {
    /// What is wrong.
    pub violation: Violation,
    /// The profile's line that excludes it, with its source, if there is one.
    pub by_design: Option<String>,
    /// The step that has ended the worker, or hung; none if the worker itself has seen the
    /// violation.
    pub died: Option<StepName>,
    /// What leads to it.
    pub way: Witness,
}

impl FoundError {
    /// Is a violation of the same kind?
    pub(crate) fn is_like(&self, violation: &Violation) -> bool {
        (self.violation.verdict, &self.violation.promise) == (violation.verdict, &violation.promise)
    }
}

/// What leads to an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The epoch of the check; none without a crash.
    pub epoch: Option<Epoch>,
    /// The check's arguments.
    pub args: Vec<String>,
    /// The crash disk's identity and what it has kept; none without a crash.
    pub disk: Option<(String, Vec<KeptPiece>)>,
    /// The same of each crash during recovery that followed.
    pub recovery: Vec<(String, Vec<KeptPiece>)>,
    /// Every choice from the pristine disks on.
    #[serde(with = "as_json")]
    pub choices: Vec<Choice>,
    /// The place of the error on that path.
    pub place: Position,
    /// The hash of all events up to there.
    pub log_hash: u128,
}

/// Where in a run something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Calls of mutate so far, the current one included.
    pub mutates: u32,
    /// Index of the request for crash checks, from the beginning of the run.
    pub interval: u64,
    /// Chops so far, one that goes on included.
    pub chops: u32,
}

impl Position {
    /// The call of mutate that is here.
    pub(crate) fn step(self) -> WorkerStep {
        WorkerStep::Mutate { mutates: self.mutates, interval: self.interval }
    }

    /// The chop that follows it.
    pub(crate) fn chop(self) -> WorkerStep {
        WorkerStep::Chop { mutates: self.mutates }
    }
}
