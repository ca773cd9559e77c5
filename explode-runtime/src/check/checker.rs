//! A checker: drives the system and knows what must survive (the paper's five methods, EX-18 to
//! EX-22).

use super::Cx;
use super::abilities::{Demands, Probe, Topology};
use super::driver::DiskCheck;
use super::facts::{CheckerFacts, Unsupported};
use crate::base::StepError;
use crate::crash::Epoch;
use crate::stack::Stack;
use crate::verdict::{CheckError, ShellDemand, Violation};

/// Drives a stack and judges its crash disks.
pub trait Checker {
    /// Prepares the checker's own state. The stack has just been mounted: at the start, and again
    /// after each chop, by when [`finish`](Checker::finish) was called. What a checker shall know
    /// after a chop it keeps here, or reads again.
    fn init(&mut self, _stack: &Stack) -> Result<(), StepError> {
        Ok(())
    }

    /// One step of the system: makes choices, does operations, asks for crash checks.
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError>;

    /// Looks for errors on a crash disk, recovered and mounted as `stack`.
    ///
    /// # Errors
    /// [`CheckError::Violation`] if a promise is broken, [`CheckError::Broken`] if the check itself
    /// could not be made.
    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError>;

    /// The identity of the state: states with equal signatures are explored once. By default no two
    /// are equal (EX-20).
    fn get_sig(&self) -> Option<Vec<u8>> {
        None
    }

    /// Drops the checker's own state, and closes what it holds open. The stack is about to be
    /// unmounted: the unit has ended, whatever has ended it, or there is a chop (EX-21). An error
    /// ends the unit; it says nothing where another reason has ended it before.
    fn finish(&mut self, _stack: &Stack) -> Result<(), StepError> {
        Ok(())
    }

    /// A digest of everything that `check` reads besides the disk: two checks with equal keys are
    /// one. By default checks merge only within one request for crash checks.
    fn check_key(&self) -> Option<Vec<u8>> {
        None
    }

    /// A copy, made at a chop, after [`finish`](Checker::finish) and before
    /// [`init`](Checker::init): a state behind the chop is restored with it, and without the
    /// mutates before. It has no part of the stack. By default there is none, and every mutate is
    /// repeated.
    fn fork(&self) -> Option<Box<dyn Checker>> {
        None
    }

    /// What is known of the checker on this stack, which was started for the first time. It is
    /// asked for once.
    ///
    /// # Errors
    /// What the checker needs and the stack does not have. The run is refused.
    fn facts(&self, _stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        Ok(CheckerFacts::default())
    }

    /// What the checker can do besides. It is asked for each time.
    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default()
    }
}

/// What a checker can do besides driving and judging. By default there is nothing.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct CheckerAbilities<'a> {
    /// Finds out which calls the stack does not have. `None` if the checker uses only calls that
    /// every stack has.
    pub probe: Option<&'a dyn Probe>,
    /// Tells which states are the same.
    pub topology: Option<&'a dyn Topology>,
    /// Says what is demanded of a crash disk.
    pub demands: Option<&'a dyn Demands>,
    /// Prepares for a chop. `None` if the checker goes on unchanged.
    pub chop: Option<&'a dyn Chop>,
}

/// Setters, to be chained.
impl<'a> CheckerAbilities<'a> {
    /// The checker finds out which calls the stack does not have.
    pub fn probe(self, probe: &'a dyn Probe) -> CheckerAbilities<'a> {
        CheckerAbilities { probe: Some(probe), ..self }
    }

    /// The checker tells which states are the same.
    pub fn topology(self, topology: &'a dyn Topology) -> CheckerAbilities<'a> {
        CheckerAbilities { topology: Some(topology), ..self }
    }

    /// The checker says what it demands of a crash disk.
    pub fn demands(self, demands: &'a dyn Demands) -> CheckerAbilities<'a> {
        CheckerAbilities { demands: Some(demands), ..self }
    }

    /// The checker prepares for a chop.
    pub fn chop(self, chop: &'a dyn Chop) -> CheckerAbilities<'a> {
        CheckerAbilities { chop: Some(chop), ..self }
    }
}

/// A checker whose state changes at a chop (`--chop`).
pub trait Chop {
    /// Returns the checker that goes on behind the chop, in place of this one. The stack is about
    /// to be unmounted and mounted again, and what was written is durable from then on. The new
    /// checker holds nothing open: at the next mutate the stack is another one. This one's
    /// [`finish`](Checker::finish) is called next, and the new one's [`init`](Checker::init) after
    /// the mount.
    ///
    /// # Errors
    /// The checker cannot go on.
    fn chop(&self, stack: &Stack) -> Result<Box<dyn Checker>, StepError>;
}

/// A whole checker, as the part of it that looks at crash disks.
pub struct Whole<'a>(pub &'a dyn Checker);

impl DiskCheck for Whole<'_> {
    fn check_disk(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        self.0.check(stack, epoch, args)
    }

    fn disk_check_key(&self) -> Option<Vec<u8>> {
        self.0.check_key()
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

    fn disk_demands(
        &self,
        epoch: Epoch,
        args: &[String],
        violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        self.abilities().demands?.demands(epoch, args, violation)
    }
}
