//! What only the devices of a kernel can do.

use std::path::Path;

use super::side::Side;
use crate::base::{RunError, StepError};
use crate::choose::Choice;
use crate::faults::background::BackgroundWork;
use crate::faults::kernel::KernelFaults;

/// The kernel below a stack: its choices, its threads, and the calls on its file systems.
pub trait KernelSide {
    /// Which of the two sets these are.
    fn side(&self) -> Side;

    /// Makes the folders of a stack's components.
    fn make_folders(&self, places: &[&Path]);

    /// Has the kernel probe the functions that may fail.
    ///
    /// # Errors
    /// Functions that this kernel does not have, or that must not be probed.
    fn probe(&self, failures: &KernelFaults) -> Result<(), RunError>;

    /// Hands the sequence of choices over: from here on functions of the kernel may fail in system
    /// calls of this thread, and the kernel may act on its own between two calls. The script
    /// answers first, and nothing happens after it. Every choice of the script is one of the
    /// kernel's side.
    ///
    /// # Errors
    /// The kernel refuses.
    fn hand_over(
        &self,
        failures: KernelFaults,
        between: BackgroundWork,
        script: Vec<Choice>,
    ) -> Result<(), StepError>;

    /// Takes the sequence back. Returns what was chosen.
    ///
    /// # Errors
    /// What was chosen is not known.
    fn take_back(&self) -> Result<Vec<Choice>, StepError>;

    /// A mutate begins on the stack (`on`), or has ended. In between code of the kernel may ask for
    /// crash checks (EX-66): a request becomes a mark of the log.
    fn listen(&self, on: bool);

    /// Has code of the kernel asked for crash checks since the mutate began?
    fn has_asked(&self) -> bool;

    /// The first request of kernel code that was refused: all are on the stack of a crash disk, and
    /// elsewhere one with a wrong name.
    fn refused(&self) -> Option<StepError>;

    /// Holds back the threads of this stack from now on: they run when all others wait.
    ///
    /// # Errors
    /// The kernel refuses, or is not a guest's.
    fn quiesce(&self, threads: &[(&str, u32)]) -> Result<(), StepError>;

    /// Returns true if operations are logged in place of what goes to the disks.
    fn notes_operations(&self) -> bool;

    /// Logs the operations on the file system that is mounted at this path.
    ///
    /// # Errors
    /// The kernel refuses, or follows too many already.
    fn follow(&self, at: &Path) -> Result<(), StepError>;

    /// How many file systems are followed, or were.
    fn followed(&self) -> u32;

    /// Ends that for one file system, which is about to be unmounted.
    ///
    /// # Errors
    /// The kernel refuses.
    fn unfollow(&self, system: u32) -> Result<(), StepError>;

    /// Marks the machine as unfit for further runs: something on it could not be unmounted.
    fn give_up(&self, why: &StepError);
}
