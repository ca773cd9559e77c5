//! The checker interface: drives the system and knows what must survive (the paper's five methods,
//! EX-18 to EX-22).

use super::Cx;
use super::abilities::{Demands, Forecast, Probe, Tallies, Topology};
use super::driver::DiskCheck;
use super::facts::{CheckerFacts, Unsupported};
use crate::base::{StepError, UsageError};
use crate::crash::Epoch;
use crate::stack::Stack;
use crate::verdict::{CheckError, ShellDemand, Violation};

/// Drives a stack and judges its crash disks.
pub trait Checker {
    /// Prepares the checker's own state. The stack has just been mounted: at the start, and again
    /// after each chop, before which [`finish`](Checker::finish) was called. State that the checker
    /// needs after a chop is kept here or read again.
    fn init(&mut self, _stack: &Stack) -> Result<(), StepError> {
        Ok(())
    }

    /// Does one step of the system: makes choices, does operations, requests crash checks.
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError>;

    /// Looks for errors on a crash disk that was recovered and mounted as `stack`.
    ///
    /// # Errors
    /// [`CheckError::Violation`] if a promise is broken, [`CheckError::Broken`] if the check itself
    /// could not be made.
    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError>;

    /// Returns the identity of the state. States with equal signatures are explored once. By
    /// default no two are equal (EX-20).
    fn get_sig(&self) -> Option<Vec<u8>> {
        None
    }

    /// Drops the checker's own state and closes its open files. The stack is about to be unmounted,
    /// because the unit has ended for any reason or because of a chop (EX-21). An error ends the
    /// unit. If the unit has already ended for another reason, the error is ignored.
    fn finish(&mut self, _stack: &Stack) -> Result<(), StepError> {
        Ok(())
    }

    /// Returns a digest of everything that `check` reads besides the disk. Checks with equal keys
    /// are merged. By default checks merge only within one request for crash checks.
    fn check_key(&self) -> Option<Vec<u8>> {
        None
    }

    /// Returns a copy of the checker. It is made at a chop, after [`finish`](Checker::finish) and
    /// before [`init`](Checker::init), and must share nothing with the stack. With it a state after
    /// the chop is restored without the mutates before the chop. `None`, the default, makes every
    /// restore repeat all mutates.
    fn fork(&self) -> Option<Box<dyn Checker>> {
        None
    }

    /// Returns the facts of the checker on this stack, which was started for the first time. Called
    /// once.
    ///
    /// # Errors
    /// A requirement of the checker that the stack does not meet. The run is refused.
    fn facts(&self, _stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        Ok(CheckerFacts::default())
    }

    /// Returns the optional abilities of the checker. Called for each use.
    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default()
    }
}

/// The abilities of a checker besides driving and judging. The default has none.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct CheckerAbilities<'a> {
    /// Finds the calls that the stack does not support. `None` if the checker uses only calls that
    /// every stack supports.
    pub probe: Option<&'a dyn Probe>,
    /// Counts the workloads of a run.
    pub forecast: Option<&'a dyn Forecast>,
    /// Identifies states that are the same except for names and history.
    pub topology: Option<&'a dyn Topology>,
    /// Counts something besides checks.
    pub tallies: Option<&'a dyn Tallies>,
    /// Expresses the demands on a crash disk as shell tests.
    pub demands: Option<&'a dyn Demands>,
    /// Prepares for a chop. `None` if the checker continues unchanged.
    pub chop: Option<&'a dyn Chop>,
    /// Saves and restores what `check` reads besides the disk. `None` if a check needs the mutates
    /// before it.
    pub saved: Option<&'a dyn Saved>,
    /// True if there is a chop after the first mutate and before the second, with `--chop` or
    /// without. So a checker begins on files that it has made itself, on a system that has only
    /// just been mounted. Asked after the first mutate.
    pub remounts: bool,
}

/// Setters, to be chained.
impl<'a> CheckerAbilities<'a> {
    /// Sets the probe for unsupported calls.
    pub fn probe(self, probe: &'a dyn Probe) -> CheckerAbilities<'a> {
        CheckerAbilities { probe: Some(probe), ..self }
    }

    /// Sets the count of workloads.
    pub fn forecast(self, forecast: &'a dyn Forecast) -> CheckerAbilities<'a> {
        CheckerAbilities { forecast: Some(forecast), ..self }
    }

    /// Sets the identification of equal states.
    pub fn topology(self, topology: &'a dyn Topology) -> CheckerAbilities<'a> {
        CheckerAbilities { topology: Some(topology), ..self }
    }

    /// Sets the counts besides those of checks.
    pub fn tallies(self, tallies: &'a dyn Tallies) -> CheckerAbilities<'a> {
        CheckerAbilities { tallies: Some(tallies), ..self }
    }

    /// Sets the demands on a crash disk.
    pub fn demands(self, demands: &'a dyn Demands) -> CheckerAbilities<'a> {
        CheckerAbilities { demands: Some(demands), ..self }
    }

    /// Sets the preparation for a chop.
    pub fn chop(self, chop: &'a dyn Chop) -> CheckerAbilities<'a> {
        CheckerAbilities { chop: Some(chop), ..self }
    }

    /// Sets the state that can be saved.
    pub fn saved(self, saved: &'a dyn Saved) -> CheckerAbilities<'a> {
        CheckerAbilities { saved: Some(saved), ..self }
    }

    /// Sets whether there is a chop after the first mutate.
    pub fn remounts(self, remounts: bool) -> CheckerAbilities<'a> {
        CheckerAbilities { remounts, ..self }
    }
}

/// A checker whose state changes at a chop (`--chop`).
pub trait Chop {
    /// Returns the checker that continues after the chop in place of this one. The stack is about
    /// to be unmounted and mounted again, and everything written so far is durable from then on.
    /// The new checker must hold nothing open, because the next mutate gets another stack.
    /// [`finish`](Checker::finish) of this checker is called next, and [`init`](Checker::init) of
    /// the new one after the mount.
    ///
    /// # Errors
    /// The checker cannot continue.
    fn chop(&self, stack: &Stack) -> Result<Box<dyn Checker>, StepError>;
}

/// A checker whose checks can be made without the mutates before them.
pub trait Saved {
    /// Returns everything that `check` reads besides the disk, as JSON.
    fn save(&self) -> String;

    /// Returns a checker for checks only, in the state that [`save`](Saved::save) returned.
    ///
    /// # Errors
    /// The text is no state of this checker.
    fn restored(&self, state: &str) -> Result<Box<dyn Checker>, UsageError>;
}

/// A [`DiskCheck`] that is a whole checker.
pub struct Whole<'a>(pub &'a dyn Checker);

impl DiskCheck for Whole<'_> {
    fn check_disk(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        self.0.check(stack, epoch, args)
    }

    fn disk_check_key(&self) -> Option<Vec<u8>> {
        self.0.check_key()
    }

    fn disk_state(&self) -> Option<String> {
        Some(self.0.abilities().saved?.save())
    }

    fn disk_demands(
        &self,
        epoch: Epoch,
        args: &[String],
        violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        self.0.abilities().demands?.demands(epoch, args, violation)
    }
}

impl<C: Checker> DiskCheck for C {
    fn check_disk(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        self.check(stack, epoch, args)
    }

    fn disk_check_key(&self) -> Option<Vec<u8>> {
        self.check_key()
    }

    fn disk_state(&self) -> Option<String> {
        Some(self.abilities().saved?.save())
    }

    fn disk_demands(
        &self,
        epoch: Epoch,
        args: &[String],
        violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        self.abilities().demands?.demands(epoch, args, violation)
    }
}
