//! The abilities that only the devices of a kernel have.

use std::path::Path;

use super::side::Side;
use crate::base::{RunError, StepError};
use crate::choose::Choice;
use crate::faults::background::BackgroundWork;
use crate::faults::kernel::KernelFaults;

/// The time by which [`KernelSide::pass_time`] sets the clock forward, in seconds: the largest
/// granularity of a file system's times (FAT).
pub const TICK: u64 = 2;

/// The kernel below a stack: its choices, its threads, and the calls on its file systems.
pub trait KernelSide {
    /// Returns the side of these devices.
    fn side(&self) -> Side;

    /// Makes the folders of a stack's components.
    fn make_folders(&self, places: &[&Path]);

    /// Makes the kernel probe the functions that may fail.
    ///
    /// # Errors
    /// Returns an error for functions that this kernel does not have, or that must not be probed.
    fn probe(&self, failures: &KernelFaults) -> Result<(), RunError>;

    /// Hands the sequence of choices to the kernel. From now on functions of the kernel may fail in
    /// system calls of this thread, and the kernel may act between two calls. The script answers
    /// first. After it the kernel runs normally. Every choice of the script is made on the kernel's
    /// side.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    fn hand_over(
        &self,
        failures: KernelFaults,
        between: BackgroundWork,
        script: Vec<Choice>,
    ) -> Result<(), StepError>;

    /// Takes the sequence back. Returns the choices that were made.
    ///
    /// # Errors
    /// Returns an error if the choices are not known.
    fn take_back(&self) -> Result<Vec<Choice>, StepError>;

    /// Marks the beginning (`on`) or the end of a mutate on the stack. During a mutate code of the
    /// kernel may request crash checks (EX-66). Each request becomes a mark of the log.
    fn listen(&self, on: bool);

    /// Returns true if code of the kernel has requested crash checks since the mutate began.
    fn has_requests(&self) -> bool;

    /// Returns the first request of kernel code that was refused. `None` without one. On the stack
    /// of a crash disk every request is refused, elsewhere only one with a wrong name.
    fn refused(&self) -> Option<StepError>;

    /// Holds back the threads of this stack from now on. They run when all others wait.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, or is not a guest's.
    fn quiesce(&self, threads: &[(&str, u32)]) -> Result<(), StepError>;

    /// Returns true if operations are logged instead of requests to the disks.
    fn notes_operations(&self) -> bool;

    /// Sets the clock of file systems forward by [`TICK`]. It stands still otherwise, and begins at
    /// [`NOW`](super::NOW) with each start of a live stack.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    fn pass_time(&self) -> Result<(), StepError>;

    /// Logs the operations on the file system that is mounted at this path.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, or already follows too many file systems.
    fn follow(&self, at: &Path) -> Result<(), StepError>;

    /// Returns the number of file systems that are followed, or were.
    fn followed(&self) -> u32;

    /// Stops logging the operations of one file system, which is about to be unmounted.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    fn unfollow(&self, system: u32) -> Result<(), StepError>;

    /// Marks the machine as unfit for further runs, because a part of it could not be unmounted.
    fn give_up(&self, why: &StepError);
}
