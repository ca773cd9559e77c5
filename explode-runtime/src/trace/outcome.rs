//! What a replay came to.

use serde::{Deserialize, Serialize};

use super::format::Trace;
use crate::choose::Divergence;
use crate::verdict::{Death, StepName, Violation};

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replay {
    /// The same verdict, for the same reason.
    Reproduced {
        /// What was found now.
        violation: Violation,
        /// The log was another one, and a search over the disks of the interval has found it (EX-60).
        by_search: bool,
    },
    /// The way was the same, the verdict was not.
    NotReproduced(String),
    /// Another way.
    Diverged(Divergence),
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
                Replay::NotReproduced(format!("the replay died otherwise: {}", violation.message))
            }
            _ => Replay::NotReproduced(format!("the replay itself died {death}")),
        }
    }
}

/// What a replay says if the step that hung, or ended its process, does so no more.
pub fn came_to_an_end(step: StepName) -> String {
    format!("step {step} came to an end")
}
