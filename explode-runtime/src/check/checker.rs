//! A checker: drives the system and knows what must survive (the paper's five methods, EX-18 to EX-22).

use super::Cx;
use super::driver::DiskCheck;
use crate::base::Fault;
use crate::crash::Epoch;
use crate::stack::Stack;
use crate::verdict::{Demand, Failure, Violation};

/// Drives a stack and judges its crash disks.
pub trait Checker {
    /// What it needs and the stack does not have, in words that say what to do; asked once, of the stack as it is first mounted. A
    /// run of such a stack is refused.
    fn unsupported(&self, _stack: &Stack) -> Option<String> {
        None
    }

    /// Returns true if the checker can start from files that it has not made ([`Stack::begins_with_files`]). A checker that cannot
    /// would report them as corruption, so a run of it on a stack whose first start leaves files is refused (exit code 3).
    fn begins_with_files(&self) -> bool {
        false
    }

    /// Does it want to [`probe`](Checker::probe)?
    fn probes(&self) -> bool {
        false
    }

    /// Tries what not every stack has, on one that nobody else will ever see, and says in words what this one does not have. The run
    /// says so, and goes on without it.
    fn probe(&self, _stack: &Stack) -> Result<Vec<String>, Fault> {
        Ok(Vec::new())
    }

    /// Every checker of the run is told what the probe has come to, before anything else.
    fn leave_out(&mut self, _what: &[String]) {}

    /// The promises that its checks are about, by their words, if that can be said beforehand; asked once. A run of a stack whose
    /// profile excludes all of them is refused: it could find nothing, and that would be no pass.
    fn about(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Prepares the checker's own state; the stack has just been mounted.
    fn init(&mut self, _stack: &Stack) -> Result<(), Fault> {
        Ok(())
    }

    /// One step of the system: makes choices, does operations, asks for crash checks.
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure>;

    /// Looks for errors on a crash disk, recovered and mounted as `stack`.
    ///
    /// # Errors
    /// [`Failure::Violation`] if a promise is broken, [`Failure::Broken`] if the check itself could not be made.
    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), Failure>;

    /// What [`check`](Checker::check) demands, as far as a shell can test it, what it has found broken included; it is asked when `check` has
    /// failed with this violation, with what that was told. None where what is broken cannot be said: no script is made of it then
    /// (`docs/reporting.md`).
    fn demands(&self, _epoch: Epoch, _args: &[String], _violation: &Violation) -> Option<Vec<Demand>> {
        None
    }

    /// The identity of the state: states with equal signatures are explored once. By default no two are equal (EX-20).
    fn get_sig(&self) -> Option<Vec<u8>> {
        None
    }

    /// The canonical form of what the system has made of it, names and history aside, if there is one: the run says how many
    /// distinct ones its states had (EX-99). It decides nothing.
    fn topology(&self) -> Option<Vec<u8>> {
        None
    }

    /// A digest of everything that `check` reads besides the disk: two checks with equal keys are one. By default checks merge
    /// only within one request for crash checks.
    fn check_key(&self) -> Option<Vec<u8>> {
        None
    }

    /// A chop follows (`--chop`): the stack is unmounted and mounted again, and what was written is durable from then on. The checker
    /// goes on: it lets go of what it holds open, for at the next mutate the stack is another one.
    fn chop(&mut self, _stack: &Stack) -> Result<(), Fault> {
        Ok(())
    }

    /// A copy, made right after a chop: a state behind the chop is restored with it, and without the mutates before. It has no part of
    /// the stack. By default there is none, and every mutate is repeated.
    fn fork(&self) -> Option<Box<dyn Checker>> {
        None
    }

    /// Does `check` depend on nothing but the disk and what [`check_key`](Checker::check_key) says, or, without one, what the
    /// checker remembers? Else no check can stand for another.
    fn skipping(&self) -> bool {
        true
    }

    /// Does it read the log of events, or mark it ([`Cx::log`], [`Cx::mark`])? Then all events of a unit are kept.
    fn reads_log(&self) -> bool {
        false
    }

    /// Drops the checker's own state; the stack is about to be unmounted.
    fn finish(&mut self, _stack: &Stack) -> Result<(), Fault> {
        Ok(())
    }
}

impl<C: Checker> DiskCheck for C {
    fn check_disk(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), Failure> {
        self.check(stack, epoch, args)
    }

    fn disk_check_key(&self) -> Option<Vec<u8>> {
        self.check_key()
    }

    fn disk_demands(&self, epoch: Epoch, args: &[String], violation: &Violation) -> Option<Vec<Demand>> {
        self.demands(epoch, args, violation)
    }
}
