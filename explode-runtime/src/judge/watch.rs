//! What a check reports while it is made.

use explode_ramdisk::Event;

use crate::stack::Stack;
use crate::verdict::DiskStage;

/// Watches one check.
pub(super) trait CheckWatch {
    /// A stage begins. Returns true if it shall.
    fn before(&mut self, stage: DiskStage) -> bool;

    /// The stack has recovered, and its recovery wrote these events. The checker has not looked
    /// yet.
    fn recovered(&mut self, stack: &Stack, events: &[Event]);
}
