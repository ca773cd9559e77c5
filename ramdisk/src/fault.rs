//! Faults of the medium: sectors that cannot be read, or that hold other bytes than those written,
//! and disks that fail as a whole.
//!
//! Faults belong to the contents of a disk and count in its [`Identity`], so a copy of a disk has
//! the same faults. A write makes a sector good again, because a disk remaps a bad sector when it
//! is written. A disk that failed stays so.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::{Identity, SECTOR_BYTES, ZERO_SECTOR, sector_identity};

/// A fault of sectors of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadFault {
    /// Reads of the sectors fail (`EIO`).
    Unreadable,
    /// The sectors hold bytes that were never written, drawn from the seed and the sector number.
    Garbage {
        /// The seed of the bytes.
        seed: u64,
    },
}

/// A fault of a whole disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiskFault {
    /// Every request fails (`EIO`) from now on, also after a crash.
    Failed,
    /// Every request fails until the crash. After it the disk is back with what it held.
    Stale,
    /// The disk works until the crash. After it every request fails.
    Missing,
}

/// A fault of a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Some sectors are bad.
    Sectors(Range<u64>, ReadFault),
    /// The disk fails as a whole.
    Disk(DiskFault),
}

impl Damage {
    /// Returns true if the disk fails as a whole.
    pub fn is_of_disk(&self) -> bool {
        matches!(self, Damage::Disk(_))
    }
}

/// The condition of a disk as a whole. It belongs to the contents of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// The disk works, and has every write that was durable.
    #[default]
    Sound,
    /// Every request fails.
    Failed,
    /// The disk works. Before the crash it did not answer for a time, so its contents may be old.
    Stale,
}

impl Condition {
    /// Returns the condition after a crash, for a disk with this fault.
    pub(crate) fn after(fault: DiskFault) -> Condition {
        match fault {
            DiskFault::Failed | DiskFault::Missing => Condition::Failed,
            DiskFault::Stale => Condition::Stale,
        }
    }

    /// Returns the share of the condition in a disk's identity: that of a sector beyond the end of
    /// any disk.
    pub(crate) fn mark(self) -> Identity {
        let kind = match self {
            Condition::Sound => return Identity::default(),
            Condition::Failed => 2,
            Condition::Stale => 3,
        };
        let mut bytes = ZERO_SECTOR;
        bytes[0] = kind;
        sector_identity(u64::MAX, &bytes)
    }
}

/// The sectors of a disk that cannot be read. `None` if all can.
pub(crate) type Unreadable = Option<Arc<BTreeSet<u64>>>;

/// Returns the share of an unreadable sector in an identity: that of a sector beyond the end of any
/// disk.
pub(crate) fn mark(sector: u64) -> Identity {
    let mut bytes = ZERO_SECTOR;
    bytes[0] = 1;
    sector_identity(!sector, &bytes)
}

/// Returns the bytes of a sector of garbage.
pub(crate) fn garbage(seed: u64, sector: u64) -> [u8; SECTOR_BYTES] {
    let mut bytes = ZERO_SECTOR;
    for (at, chunk) in bytes.chunks_exact_mut(16).enumerate() {
        let place = [sector.to_le_bytes(), (at as u64).to_le_bytes()].concat();
        chunk.copy_from_slice(&xxh3_128_with_seed(&place, seed).to_le_bytes());
    }
    bytes
}
