//! The result of a replay.

use serde::{Deserialize, Serialize};

use super::format::Trace;
use super::recorded::RecordedCrash;
use crate::choose::Divergence;
use crate::verdict::{Violation, WorkerDeath};

/// The reason for which a replay did not show the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NotReproduced {
    /// The step that hung, or ended its process, completed.
    #[serde(rename = "came-to-an-end")]
    StepFinished,
    /// The process died in another step, or for another reason.
    Died,
    /// A mutate itself found another violation.
    OtherViolation,
    /// The request for crash checks was not made.
    NoRequest,
    /// No crash leaves the recorded disk.
    NoDisk,
    /// Everything that was checked has kept this promise.
    NothingWrong,
    /// The replay took another path.
    Diverged,
}

impl NotReproduced {
    /// Every reason, in the order of the variants.
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

/// The source of the crash disk of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplaySource {
    /// The system, which runs again.
    System,
    /// The system, which runs again. The result has the crash in recorded form, if the checker can
    /// save its state.
    SystemRecorded,
    /// The recorded crash in the trace. The system does not run.
    Recorded,
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayResult {
    /// The replay found the same verdict, for the same reason.
    Reproduced {
        /// The violation that the replay found.
        violation: Violation,
        /// True if the log was different and a search over the disks of the interval found the
        /// violation (EX-60).
        by_search: bool,
        /// The crash of this replay in recorded form, if it was wanted.
        recorded: Option<Box<RecordedCrash>>,
    },
    /// The path was the same but the verdict was not. The text says what was found instead.
    NotReproduced(NotReproduced, String),
    /// The replay took another path.
    Diverged(Divergence),
}

impl ReplayResult {
    /// Returns the reason for which the replay has not shown the error. `None` if it has.
    pub fn not_seen(&self) -> Option<NotReproduced> {
        match self {
            ReplayResult::Reproduced { .. } => None,
            ReplayResult::NotReproduced(reason, _) => Some(*reason),
            ReplayResult::Diverged(_) => Some(NotReproduced::Diverged),
        }
    }
}

impl Trace {
    /// Returns the result of a replay of this trace that ended its process, or hung.
    pub fn replay_of(&self, death: &WorkerDeath) -> ReplayResult {
        match death.step.name() {
            Some(step) if Some(step) == self.died && !death.killed_externally => {
                let violation = death.violation(step);
                if violation.signature(&self.checker) == self.signature {
                    return ReplayResult::Reproduced {
                        violation,
                        by_search: false,
                        recorded: None,
                    };
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
