//! Something that could not be done. It says nothing of the promises of the checked system.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fault::{Blame, StepError};

/// Something that could not be done, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// What programs decide by.
    pub kind: BrokenKind,
    /// What people read.
    pub message: String,
}

/// Who or what stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BrokenKind {
    /// The checked system or this machine does not have what is asked for.
    Unsupported,
    /// The same choices led elsewhere, or a replay did not show a finding again.
    NotReproduced,
    /// A worker ended before its time, or could not be started.
    Worker,
    /// The checked system, a component or the checker failed.
    Component,
    /// Explode or the machine failed.
    Tool,
}

impl BrokenKind {
    /// All of them.
    pub const ALL: [BrokenKind; 5] = [
        BrokenKind::Unsupported,
        BrokenKind::NotReproduced,
        BrokenKind::Worker,
        BrokenKind::Component,
        BrokenKind::Tool,
    ];

    /// Returns something of this kind.
    pub fn of(self, message: impl fmt::Display) -> Broken {
        Broken { kind: self, message: message.to_string() }
    }
}

/// A missing ability is named as such. All other messages stand for themselves.
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
