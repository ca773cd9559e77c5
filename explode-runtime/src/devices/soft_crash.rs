//! Soft crashes where the event log has no contents: calls that can be repeated on a disk (EX-80).

use std::path::PathBuf;

use explode_ramdisk::{Event, Image};

use super::disk_set::DiskSet;
use crate::base::StepError;

/// Starts the stack's file systems on a disk of the crash side, does the work with the folders
/// where they are mounted, unmounts them and returns what the disks hold then.
pub type OnStack<'a> = dyn Fn(&Image, FolderWork<'_>) -> Result<Image, StepError> + 'a;

/// Work with the folders where the file systems are mounted.
pub type FolderWork<'a> = &'a mut dyn FnMut(&[PathBuf]) -> Result<(), StepError>;

/// The calls that a live stack has made.
pub trait SoftCrashLog {
    /// Takes the calls since the last time from the live devices. `hash` gets the bytes that they
    /// have written, which the marks of the event log do not have.
    fn take(&mut self, live: &dyn DiskSet, hash: &mut dyn FnMut(&[u8]));

    /// The disk before the first mark of `log`, and the log with what each call changes before its
    /// mark. The calls are repeated to find out.
    ///
    /// # Errors
    /// A call that cannot be repeated.
    fn follow(
        &mut self,
        log: &[Event],
        on_stack: &OnStack<'_>,
    ) -> Result<(Image, Vec<Event>), StepError>;

    /// A copy that goes its own way.
    fn fork(&self) -> Box<dyn SoftCrashLog>;
}

impl Clone for Box<dyn SoftCrashLog> {
    fn clone(&self) -> Box<dyn SoftCrashLog> {
        self.fork()
    }
}
