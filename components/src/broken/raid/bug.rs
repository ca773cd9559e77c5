//! The bugs that can be put into an array.

/// The bug of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RaidBug {
    /// The array is correct.
    #[default]
    None,
    /// Recovery leaves the disks as they are.
    NoResync,
    /// Recovery clears the bitmap before it makes the disks agree.
    ResyncClearsFirst,
    /// The bitmap may still be in the disks' caches when the rows that it marks are written.
    IntentNotDurable,
    /// A flush clears the bitmap before it flushes the disks.
    ClearsBeforeFlush,
    /// A flush omits some disks: of a mirror all except the first, of an array with parity the disk
    /// with the parity.
    FlushesInPart,
    /// A disk with a bad sector is not used any more.
    Evicts,
    /// A record of the journal counts, whatever its checksum.
    TornRecord,
    /// Recovery uses the buffer of a failed read as the block's contents.
    ResyncIgnoresErrors,
    /// A disk that did not answer for a time is used again as it is.
    StaleWins,
    /// A write is reported as done when the first disk has it.
    AcknowledgesFirst,
}
