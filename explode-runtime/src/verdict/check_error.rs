//! The reasons for which a mutate or a check ends early.

use std::fmt;

use super::verdict::Violation;
use crate::base::{Broken, BrokenKind, StepError};

/// The reason for which a mutate or a check ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// The checked system broke a promise.
    Violation(Violation),
    /// The checker, a component or the tool failed. This says nothing about the checked system.
    Broken(Broken),
    /// A crash check has reported its result. The caller passes this on, and the state is not
    /// explored further.
    Stop,
}

impl CheckError {
    /// Returns the error of a checker or a component that failed.
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
