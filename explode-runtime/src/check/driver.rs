//! The interface of [`Cx`](super::Cx) to the engine that runs a mutate.

use crate::base::StepError;
use crate::choose::{Choice, ChoicePoint};
use crate::crash::{Epoch, Instants};
use crate::events::Event;
use crate::stack::Stack;
use crate::verdict::{CheckError, ShellDemand, Violation};

/// The arguments that the caller of a crash check passes to `check`.
pub type Args = Vec<String>;

/// The part of a checker that checks crash disks. Every [`Checker`](super::Checker) is one.
pub trait DiskCheck {
    /// Calls [`Checker::check`](super::Checker::check).
    ///
    /// # Errors
    /// A broken promise, or a failure of the check itself.
    fn check_disk(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError>;

    /// Calls [`Checker::check_key`](super::Checker::check_key).
    fn disk_check_key(&self) -> Option<Vec<u8>>;

    /// Calls [`Saved::save`](super::Saved::save). `None` if the checker has no such ability.
    fn disk_state(&self) -> Option<String>;

    /// Calls [`Demands::demands`](super::Demands::demands).
    fn disk_demands(
        &self,
        epoch: Epoch,
        args: &[String],
        violation: &Violation,
    ) -> Option<Vec<ShellDemand>>;
}

/// A request for crash checks.
pub struct CrashRequest<'a> {
    /// Checks the disks.
    pub checker: &'a dyn DiskCheck,
    /// The moments whose crash disks are checked.
    pub when: Instants,
    /// The arguments for the epoch `begin`.
    pub begin: &'a [String],
    /// The arguments for every other epoch.
    pub args: &'a [String],
    /// The place of the moment in the log. `None` for the present.
    pub at: Option<LogPlace<'a>>,
}

/// A place in the log.
#[derive(Clone, Copy, Debug)]
pub enum LogPlace<'a> {
    /// The last mark of this name that the checker has put into the log.
    Mark(&'a str),
    /// The oldest waiting request, which the checker did not make itself (EX-66).
    Request,
}

/// Runs a mutate: makes its choices and its crash checks.
pub trait Driver {
    /// Makes a choice at a choice point.
    fn choose(&mut self, point: &ChoicePoint<'_>) -> u32;

    /// Begins an interval here.
    fn begin_interval(&mut self, stack: &Stack);

    /// Makes crash checks.
    ///
    /// # Errors
    /// [`CheckError::Stop`] if this state is not explored further.
    fn check_crashes(
        &mut self,
        stack: &Stack,
        request: &CrashRequest<'_>,
    ) -> Result<(), CheckError>;

    /// Returns a copy of the events since the last call or since the start.
    ///
    /// # Errors
    /// The log cannot be read, or the checker does not declare that it reads the log.
    fn log(&mut self, stack: &Stack) -> Result<Vec<Event>, StepError>;

    /// Adds a mark to the log.
    ///
    /// # Errors
    /// Those of [`log`](Driver::log).
    fn mark(&mut self, stack: &Stack, name: &str) -> Result<(), StepError>;

    /// Lets the kernel make choices (`on`) from now on, or ends that.
    fn kernel_turn(&mut self, stack: &Stack, on: bool);

    /// Returns the choices so far.
    fn choices(&self) -> Vec<Choice>;
}
