//! Why a mutate or a check ended early.

use std::fmt;

use super::verdict::Violation;
use crate::base::{Broken, BrokenKind, Fault};

/// Why a mutate or a check ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The checked system broke a promise.
    Violation(Violation),
    /// The checker, a component or the tool failed; nothing is said of the checked system.
    Broken(Broken),
    /// A crash check has said all there is to say: pass it on, this state is not explored further.
    Stop,
}

impl Failure {
    /// The checker or a component failed.
    pub fn broken(message: impl fmt::Display) -> Failure {
        BrokenKind::Component.of(message).into()
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Failure {
        Failure::Violation(violation)
    }
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Failure {
        Failure::Broken(broken)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Broken::from(fault).into()
    }
}

impl From<nix::errno::Errno> for Failure {
    fn from(errno: nix::errno::Errno) -> Failure {
        Failure::broken(errno)
    }
}
