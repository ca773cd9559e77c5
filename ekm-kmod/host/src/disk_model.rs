//! The parts of a disk's behaviour that a check models, and when its writes complete.

use explode_ramdisk::Flushes;

/// The modelled behaviour of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskModel {
    /// The behaviour of the disk on flushes.
    pub flushes: Flushes,
    /// True if dirty data in the buffer cache may be on disk after a crash. If false, only requests
    /// may.
    pub buffers: bool,
    /// The time at which a write of the live side completes.
    pub completes: CompletionTiming,
}

/// The time at which a write completes (`docs/model/fault-model.md`, late completion). Only guests
/// support variants other than [`CompletionTiming::AtOnce`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompletionTiming {
    /// When the write is submitted.
    #[default]
    AtOnce,
    /// When no other task can run.
    Late,
    /// At once or late, by a choice for each write.
    Choice,
}

impl Default for DiskModel {
    fn default() -> DiskModel {
        DiskModel { flushes: Flushes::Kept, buffers: true, completes: CompletionTiming::AtOnce }
    }
}
