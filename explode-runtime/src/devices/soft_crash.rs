//! Soft crashes for event logs without contents: calls that can be repeated on a disk (EX-80).

use std::path::PathBuf;

use explode_ramdisk::{Event, Image};

use super::disk_set::DiskSet;
use crate::base::StepError;

/// A function that starts the stack's file systems on a disk of the crash side and does the work
/// with their mount points. It then unmounts them and returns the contents of the disks.
pub type OnStack<'a> = dyn Fn(&Image, FolderWork<'_>) -> Result<Image, StepError> + 'a;

/// Work with the folders at which the file systems are mounted.
pub type FolderWork<'a> = &'a mut dyn FnMut(&[PathBuf]) -> Result<(), StepError>;

/// The calls that a live stack has made.
pub trait SoftCrashLog {
    /// Takes the calls since the last time from the live devices. `hash` receives the bytes that
    /// they have written, which the marks of the event log do not contain.
    fn take(&mut self, live: &dyn DiskSet, hash: &mut dyn FnMut(&[u8]));

    /// Returns the disk before the first mark of `log`, and the log with the changes of each call
    /// before its mark. It repeats the calls to find the changes.
    ///
    /// # Errors
    /// Returns an error if a call cannot be repeated.
    fn follow(
        &mut self,
        log: &[Event],
        on_stack: &OnStack<'_>,
    ) -> Result<(Image, Vec<Event>), StepError>;

    /// Returns an independent copy.
    fn fork(&self) -> Box<dyn SoftCrashLog>;
}

impl Clone for Box<dyn SoftCrashLog> {
    fn clone(&self) -> Box<dyn SoftCrashLog> {
        self.fork()
    }
}
