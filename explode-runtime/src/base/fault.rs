//! Why a step of a component failed, and whose fault it is.

use std::fmt;

/// Why a step of a component failed, in words for the user, and whose fault it is on a crash disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepError {
    message: String,
    /// Whose fault it is.
    pub blame: Blame,
}

/// Whose fault a failed step is, if the step was the recovery or the mount of a crash disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The checked system's.
    CheckedSystem,
    /// The checked system's: it has broken this promise.
    Promise(&'static str),
    /// The component's, the tool's or the machine's: nothing is said of the checked system.
    Tool,
}

impl StepError {
    /// A fault of the checked system.
    pub fn new(message: impl fmt::Display) -> StepError {
        StepError { message: message.to_string(), blame: Blame::CheckedSystem }
    }

    /// Returns the fault with another blame.
    #[must_use = "this returns the fault with its blame"]
    pub fn blame(self, blame: Blame) -> StepError {
        StepError { blame, ..self }
    }

    /// The same fault, with a name before its words.
    #[must_use = "this returns the fault with its name"]
    pub fn of(self, name: &str) -> StepError {
        StepError { message: format!("{name}: {}", self.message), ..self }
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<nix::errno::Errno> for StepError {
    fn from(errno: nix::errno::Errno) -> StepError {
        StepError::new(errno)
    }
}
