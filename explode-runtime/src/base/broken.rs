//! Failures of a run that say nothing about the promises of the checked system.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::step_error::{Blame, StepError};

/// An action that failed, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// The kind of the failure, for programs.
    pub kind: BrokenKind,
    /// The reason, for people.
    pub message: String,
}

/// The cause of a failure that is no finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BrokenKind {
    /// The checked system or this machine lacks something that the run needs.
    Unsupported,
    /// The same choices took another path, or a replay did not reproduce a finding.
    NotReproduced,
    /// A worker ended early, or could not be started.
    Worker,
    /// The checked system, a component or the checker failed.
    Component,
    /// Explode or the machine failed.
    Tool,
}

impl BrokenKind {
    /// Every kind, in the order of the variants.
    pub const ALL: [BrokenKind; 5] = [
        BrokenKind::Unsupported,
        BrokenKind::NotReproduced,
        BrokenKind::Worker,
        BrokenKind::Component,
        BrokenKind::Tool,
    ];

    /// Returns a failure of this kind with a message.
    pub fn of(self, message: impl fmt::Display) -> Broken {
        Broken { kind: self, message: message.to_string() }
    }
}

/// Shows the message. A missing ability has the prefix `unsupported`.
impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            BrokenKind::Unsupported => write!(f, "unsupported: {}", self.message),
            _ => f.write_str(&self.message),
        }
    }
}

impl From<StepError> for Broken {
    fn from(fault: StepError) -> Broken {
        let kind = match fault.blame {
            Blame::CheckedSystem | Blame::Promise(_) => BrokenKind::Component,
            Blame::Tool => BrokenKind::Tool,
        };
        kind.of(fault)
    }
}
