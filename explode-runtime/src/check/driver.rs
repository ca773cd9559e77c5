//! What runs a mutate, as [`Cx`](super::Cx) sees it.

use crate::base::StepError;
use crate::choose::{Choice, ChoicePoint};
use crate::crash::{Epoch, Instants};
use crate::events::Event;
use crate::stack::Stack;
use crate::verdict::{CheckError, ShellDemand, Violation};

/// What the caller of a crash check wants `check` to know.
pub type Args = Vec<String>;

/// The part of a checker that looks at crash disks. Every [`Checker`](super::Checker) is one.
pub trait DiskCheck {
    /// [`Checker::check`](super::Checker::check).
    ///
    /// # Errors
    /// A broken promise, or what the check could not do.
    fn check_disk(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError>;

    /// [`Checker::check_key`](super::Checker::check_key).
    fn disk_check_key(&self) -> Option<Vec<u8>>;

    /// [`Demands::demands`](super::Demands::demands).
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
    /// The instants that are asked about.
    pub when: Instants,
    /// The arguments for the epoch `begin`.
    pub begin: &'a [String],
    /// The arguments for every other epoch.
    pub args: &'a [String],
    /// The place in the log where the instant is; `None` for here.
    pub at: Option<LogPlace<'a>>,
}

/// A place in the log.
#[derive(Clone, Copy, Debug)]
pub enum LogPlace<'a> {
    /// The checker's last mark of this name.
    Mark(&'a str),
    /// At the oldest open request that the checker did not make itself (EX-66).
    Request,
}

/// Runs a mutate: answers its choices and makes its crash checks.
pub trait Driver {
    /// Answers a choice point.
    fn choose(&mut self, point: &ChoicePoint<'_>) -> u32;

    /// Begins an interval here.
    fn begin_interval(&mut self, stack: &Stack);

    /// Makes crash checks.
    ///
    /// # Errors
    /// [`CheckError::Stop`] if this state is not to be explored further.
    fn check_crashes(
        &mut self,
        stack: &Stack,
        request: &CrashRequest<'_>,
    ) -> Result<(), CheckError>;

    /// The events since the last call, or since the start: a copy.
    ///
    /// # Errors
    /// The log cannot be read, or the checker does not say that it reads it.
    fn log(&mut self, stack: &Stack) -> Result<Vec<Event>, StepError>;

    /// Adds a mark to the log.
    ///
    /// # Errors
    /// As [`log`](Driver::log).
    fn mark(&mut self, stack: &Stack, name: &str) -> Result<(), StepError>;

    /// Lets the kernel choose from here on (`on`), or takes the sequence of choices back.
    fn kernel_turn(&mut self, stack: &Stack, on: bool);

    /// The choices that were made.
    fn choices(&self) -> Vec<Choice>;
}
