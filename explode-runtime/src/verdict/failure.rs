//! Why a mutate or a check ended early.

use std::fmt;

use super::verdict::Violation;
use crate::base::{Broken, BrokenKind, StepError};

/// Why a mutate or a check ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// The checked system broke a promise.
    Violation(Violation),
    /// The checker, a component or the tool failed; nothing is said of the checked system.
    Broken(Broken),
    /// A crash check has said all there is to say: pass it on, this state is not explored further.
    Stop,
}

impl CheckError {
    /// The checker or a component failed.
    pub fn broken(message: impl fmt::Display) -> CheckError {
        BrokenKind::Component.of(message).into()
    }
}

impl From<Violation> for CheckError {
    fn from(violation: Violation) -> CheckError {
        CheckError::Violation(violation)
    }
}

impl From<Broken> for CheckError {
    fn from(broken: Broken) -> CheckError {
        CheckError::Broken(broken)
    }
}

impl From<StepError> for CheckError {
    fn from(fault: StepError) -> CheckError {
        Broken::from(fault).into()
    }
}

impl From<nix::errno::Errno> for CheckError {
    fn from(errno: nix::errno::Errno) -> CheckError {
        CheckError::broken(errno)
    }
}
