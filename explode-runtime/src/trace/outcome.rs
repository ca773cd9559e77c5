//! The result of a replay.

use serde::{Deserialize, Serialize};

use super::format::Trace;
use crate::choose::Divergence;
use crate::verdict::{Violation, WorkerDeath};

/// Why a replay did not show the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NotReproduced {
    /// The step that hung, or ended its process, completed.
    #[serde(rename = "came-to-an-end")]
    StepFinished,
    /// The process died, in another step or of something else.
    Died,
    /// A mutate itself has found something else.
    OtherViolation,
    /// The request for crash checks was not made.
    NoRequest,
    /// No crash leaves the recorded disk.
    NoDisk,
    /// All that was looked at has kept this promise.
    NothingWrong,
    /// It went another way.
    Diverged,
}

impl NotReproduced {
    /// All of them.
    pub const ALL: [NotReproduced; 7] = [
        NotReproduced::StepFinished,
        NotReproduced::Died,
        NotReproduced::OtherViolation,
        NotReproduced::NoRequest,
        NotReproduced::NoDisk,
        NotReproduced::NothingWrong,
        NotReproduced::Diverged,
    ];
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayResult {
    /// The same verdict, for the same reason.
    Reproduced {
        /// What was found now.
        violation: Violation,
        /// The log was another one, and a search over the disks of the interval has found it
        /// (EX-60).
        by_search: bool,
    },
    /// The way was the same, the verdict was not; and what was there instead.
    NotReproduced(NotReproduced, String),
    /// Another way.
    Diverged(Divergence),
}

impl ReplayResult {
    /// Why it has not shown the error; none if it has.
    pub fn not_seen(&self) -> Option<NotReproduced> {
        match self {
            ReplayResult::Reproduced { .. } => None,
            ReplayResult::NotReproduced(reason, _) => Some(*reason),
            ReplayResult::Diverged(_) => Some(NotReproduced::Diverged),
        }
    }
}

impl Trace {
    /// What it means for this trace that its replay ended the process, or did not end.
    pub fn replay_of(&self, death: &WorkerDeath) -> ReplayResult {
        match death.step.name() {
            Some(step) if Some(step) == self.died && !death.killed_externally => {
                let violation = death.violation(step);
                if violation.signature(&self.checker) == self.signature {
                    return ReplayResult::Reproduced { violation, by_search: false };
                }
                ReplayResult::NotReproduced(
                    NotReproduced::Died,
                    format!("the replay died otherwise: {}", violation.message),
                )
            }
            _ => ReplayResult::NotReproduced(
                NotReproduced::Died,
                format!("the replay itself died {death}"),
            ),
        }
    }
}
