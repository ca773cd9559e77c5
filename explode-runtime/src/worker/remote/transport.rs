//! What a worker runs in, and how it ended.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::base::RunError;
use crate::verdict::Verdict;
use crate::worker::step_page::StepPage;

/// What a worker runs in. When it is dropped, nothing of it is left.
pub trait Transport {
    /// The stream of its messages; non-blocking or not.
    fn reader(&self) -> BorrowedFd<'_>;

    /// The stream for messages to it; must not block.
    fn writer(&self) -> BorrowedFd<'_>;

    /// Where it announces its steps; none if it says them.
    fn page(&self) -> Option<&StepPage>;

    /// How long others have kept it from running since it began, as far as that is known: deadlines
    /// stand still meanwhile.
    fn kept_waiting(&self) -> Duration;

    /// Ends it, unless it ends by itself within `patience`, and returns how it ended. A later call
    /// returns the same.
    fn end(&mut self, patience: Duration) -> TransportEnd;
}

/// How a worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportEnd {
    /// What is said of it whatever the step was; none for a process that just died.
    pub verdict: Option<Verdict>,
    /// How, in words.
    pub message: String,
    /// Nothing in it can end it like that: it was ended from outside.
    pub killed_externally: bool,
}

/// Starts what a worker runs in.
pub type SpawnTransport<'a> = dyn FnMut() -> Result<Box<dyn Transport>, RunError> + 'a;
