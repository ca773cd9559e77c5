//! The bugs that can be put into an array.

/// What is wrong with an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RaidBug {
    /// The array is correct.
    #[default]
    None,
    /// Recovery leaves the disks as they are.
    NoResync,
    /// Recovery clears the bitmap, and then makes the disks agree.
    ResyncClearsFirst,
    /// The bitmap may stay in the disks' caches when what it announces is written.
    IntentNotDurable,
    /// A flush clears the bitmap, and then flushes the disks.
    ClearsBeforeFlush,
    /// A flush goes to the first disk only, or not to the one that has the parity.
    FlushesInPart,
    /// A disk with a bad sector is not used any more.
    Evicts,
    /// A record of the journal counts whatever its checksum.
    TornRecord,
    /// Recovery takes what a read that has failed leaves behind for what was read.
    ResyncIgnoresErrors,
}
