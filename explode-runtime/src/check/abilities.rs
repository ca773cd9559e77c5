//! The optional abilities of a checker.

use crate::base::{ExactCount, StepError};
use crate::crash::Epoch;
use crate::stack::Stack;
use crate::verdict::{ShellDemand, Violation};

/// A checker that uses calls that some stacks do not support.
pub trait Probe {
    /// Tries the calls on a separate stack, which is then discarded, and returns the names of the
    /// unsupported ones. The run reports them. Every checker of the run finds them in
    /// [`Stack::unsupported_calls`] when `init` is called, and omits them.
    ///
    /// # Errors
    /// The probe itself failed.
    fn probe(&self, stack: &Stack) -> Result<Vec<String>, StepError>;
}

/// A checker that can count its workloads before a run.
pub trait Forecast {
    /// Returns how many mutates a complete run makes on paths of 1, 2, 3 and more mutates, if each
    /// call succeeds: at most `depth` numbers, and fewer if counting takes too long. Called after
    /// [`init`](super::Checker::init). The run prints the numbers before its first check. They have
    /// no other effect.
    fn mutates(&self, depth: u32) -> Vec<ExactCount>;
}

/// A checker that counts something besides checks.
pub trait Tallies {
    /// Returns the counts of the last mutate and its checks, each with the name of a group and its
    /// own name. Called once in each state that is reached, the first one included. The run adds
    /// them up and reports them.
    fn tallies(&self) -> Vec<(&'static str, &'static str, ExactCount)>;
}

/// A checker that can tell which of its states differ only in names and history.
pub trait Topology {
    /// Returns the canonical form of the state: equal for states that differ only in names and
    /// history. The run reports the number of distinct forms (EX-99). They have no other effect.
    fn topology(&self) -> Vec<u8>;
}

/// A checker that can express its demands on a crash disk as shell tests.
pub trait Demands {
    /// Returns the demands of [`check`](super::Checker::check) that a shell can test, including the
    /// broken one. Called after `check` has failed with this violation, with the same epoch and
    /// arguments. `None` if the violation cannot be expressed. Then no script is made of it
    /// (`docs/guide/report-a-bug.md`).
    fn demands(
        &self,
        epoch: Epoch,
        args: &[String],
        violation: &Violation,
    ) -> Option<Vec<ShellDemand>>;
}
