//! What only some checkers can do.

use crate::base::StepError;
use crate::crash::Epoch;
use crate::stack::Stack;
use crate::verdict::{ShellDemand, Violation};

/// A checker that uses calls which not every stack has.
pub trait Probe {
    /// Tries the calls on a stack of its own, which is then thrown away, and returns the names of
    /// those that it does not have. The run reports them. Every checker of the run finds them in
    /// [`Stack::unsupported_calls`] when `init` is called, and omits them.
    ///
    /// # Errors
    /// The probe itself failed.
    fn probe(&self, stack: &Stack) -> Result<Vec<String>, StepError>;
}

/// A checker that can tell which of its states are the same but for names and history.
pub trait Topology {
    /// The canonical form of what the system has made of the state. The run reports how many
    /// distinct ones its states had (EX-99). It decides nothing else.
    fn topology(&self) -> Vec<u8>;
}

/// A checker that can say what it demands of a crash disk in terms of a shell.
pub trait Demands {
    /// What [`check`](super::Checker::check) demands, as far as a shell can test it, including what
    /// it has found broken. It is called after `check` has failed with this violation, with the
    /// same epoch and arguments. `None` if what is broken cannot be said: then no script is made of
    /// it (`docs/guide/report-a-bug.md`).
    fn demands(
        &self,
        epoch: Epoch,
        args: &[String],
        violation: &Violation,
    ) -> Option<Vec<ShellDemand>>;
}
