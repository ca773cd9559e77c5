//! The error of a step of a component, with its blame.

use std::fmt;

/// The error of a step of a component, in words for the user, with its blame on a crash disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepError {
    message: String,
    /// The party that is at fault.
    pub blame: Blame,
}

/// The party at fault if the recovery or the mount of a crash disk fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The checked system.
    CheckedSystem,
    /// The checked system, which broke this promise.
    Promise(&'static str),
    /// The component, the tool or the machine. The failure says nothing about the checked system.
    Tool,
}

impl StepError {
    /// Returns an error of the checked system.
    pub fn new(message: impl fmt::Display) -> StepError {
        StepError { message: message.to_string(), blame: Blame::CheckedSystem }
    }

    /// Returns the error with another blame.
    #[must_use = "this returns the fault with its blame"]
    pub fn blame(self, blame: Blame) -> StepError {
        StepError { blame, ..self }
    }

    /// Returns the error with a name before its message.
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
