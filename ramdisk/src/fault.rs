//! Faults of the medium: sectors that cannot be read, or that hold other bytes than those written.
//!
//! Faults belong to the contents of a disk and count in its [`Identity`], so a copy of a disk has
//! the same faults. A write makes a sector good again, because a disk remaps a bad sector when it
//! is written.

use std::collections::BTreeSet;
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
