//! The reports of a check in progress.

use explode_ramdisk::Event;

use crate::stack::Stack;
use crate::verdict::DiskStage;

/// Watches one check.
pub(super) trait CheckWatch {
    /// Announces a stage. Returns false to stop the check.
    fn before(&mut self, stage: DiskStage) -> bool;

    /// Reports that the stack has recovered and that its recovery wrote these events. The checker
    /// has not run yet.
    fn recovered(&mut self, stack: &Stack, events: &[Event]);
}
