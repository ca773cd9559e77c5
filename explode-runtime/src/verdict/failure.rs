//! Why a mutate or a check ended early.

use super::verdict::Violation;
use crate::base::Fault;

/// Why a mutate or a check ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The checked system broke a promise.
    Violation(Violation),
    /// The checker, a component or the tool failed; nothing is said of the checked system.
    Broken(String),
    /// A crash check has said all there is to say: pass it on, this state is not explored further.
    Stop,
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Failure {
        Failure::Violation(violation)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure::Broken(fault.to_string())
    }
}

impl From<nix::errno::Errno> for Failure {
    fn from(errno: nix::errno::Errno) -> Failure {
        Failure::Broken(errno.to_string())
    }
}
