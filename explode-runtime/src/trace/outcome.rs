//! The result of a replay.

use serde::{Deserialize, Serialize};

use super::format::Trace;
use crate::choose::Divergence;
use crate::verdict::{Death, Violation};

/// Why a replay did not show the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NotSeen {
    /// The step that hung, or ended its process, completed.
    CameToAnEnd,
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

impl NotSeen {
    /// All of them.
    pub const ALL: [NotSeen; 7] = [
        NotSeen::CameToAnEnd,
        NotSeen::Died,
        NotSeen::OtherViolation,
        NotSeen::NoRequest,
        NotSeen::NoDisk,
        NotSeen::NothingWrong,
        NotSeen::Diverged,
    ];
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replay {
    /// The same verdict, for the same reason.
    Reproduced {
        /// What was found now.
        violation: Violation,
        /// The log was another one, and a search over the disks of the interval has found it
        /// (EX-60).
        by_search: bool,
    },
    /// The way was the same, the verdict was not; and what was there instead.
    NotReproduced(NotSeen, String),
    /// Another way.
    Diverged(Divergence),
}

impl Replay {
    /// Why it has not shown the error; none if it has.
    pub fn not_seen(&self) -> Option<NotSeen> {
        match self {
            Replay::Reproduced { .. } => None,
            Replay::NotReproduced(reason, _) => Some(*reason),
            Replay::Diverged(_) => Some(NotSeen::Diverged),
        }
    }
}

impl Trace {
    /// What it means for this trace that its replay ended the process, or did not end.
    pub fn replay_of(&self, death: &Death) -> Replay {
        match death.step.name() {
            Some(step) if Some(step) == self.died && !death.from_outside => {
                let violation = death.violation(step);
                if violation.signature(&self.checker) == self.signature {
                    return Replay::Reproduced { violation, by_search: false };
                }
                Replay::NotReproduced(
                    NotSeen::Died,
                    format!("the replay died otherwise: {}", violation.message),
                )
            }
            _ => Replay::NotReproduced(NotSeen::Died, format!("the replay itself died {death}")),
        }
    }
}
