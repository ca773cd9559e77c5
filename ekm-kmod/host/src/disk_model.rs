//! What of a disk's life is believed, and when its writes end.

use explode_ramdisk::Flushes;

/// What of a disk's life is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskModel {
    /// Does it do what a flush asks for?
    pub flushes: Flushes,
    /// Does what is dirty in the buffer cache count as something that may be on disk? Without it
    /// only requests do.
    pub buffers: bool,
    /// When does a write of the live side end?
    pub completes: CompletionTiming,
}

/// When a write ends (`docs/model/fault-model.md`, late completion). Guests only, but for the
/// first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompletionTiming {
    /// When it is submitted.
    #[default]
    AtOnce,
    /// When nothing else can go on.
    Late,
    /// Of each write it is chosen.
    Choice,
}

impl Default for DiskModel {
    fn default() -> DiskModel {
        DiskModel { flushes: Flushes::Kept, buffers: true, completes: CompletionTiming::AtOnce }
    }
}
