//! The process, guest or thread that a worker runs in, and its end.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::base::RunError;
use crate::verdict::Verdict;
use crate::worker::step_page::StepPage;

/// The process, guest or thread that a worker runs in. Dropping it ends the worker and leaves
/// nothing of it behind, except a thread that hangs.
pub trait Transport {
    /// Returns the stream of messages from the worker. It may be blocking or non-blocking.
    fn reader(&self) -> BorrowedFd<'_>;

    /// Returns the stream of messages to the worker. It must not block.
    fn writer(&self) -> BorrowedFd<'_>;

    /// Returns the page on which the worker announces its steps; `None` if it sends them as
    /// messages.
    fn page(&self) -> Option<&StepPage>;

    /// Returns the time for which others have kept the worker from running since it began, if that
    /// is known. Deadlines do not run meanwhile.
    fn kept_waiting(&self) -> Duration;

    /// Kills the worker, unless it ends by itself within `patience`, and returns how it ended. A
    /// later call returns the same end.
    fn end(&mut self, patience: Duration) -> TransportEnd;
}

/// The end of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportEnd {
    /// The verdict if it does not depend on the step; `None` for a process that just died.
    pub verdict: Option<Verdict>,
    /// A description of the end.
    pub message: String,
    /// True if the worker was killed from outside, which its step cannot cause.
    pub killed_externally: bool,
}

/// Starts the process, guest or thread of a worker.
pub type SpawnTransport<'a> = dyn FnMut() -> Result<Box<dyn Transport>, RunError> + 'a;
