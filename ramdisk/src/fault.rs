//! Faults of the medium: sectors that cannot be read any more, or hold something else.
//!
//! They are part of what a disk holds, its [`Identity`] included, so a copy of a disk has them too.
//! A sector that is written is good again, as disks give it another place then.

use std::collections::BTreeSet;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::{Identity, SECTOR_BYTES, ZERO_SECTOR, sector_identity};

/// What becomes of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadFault {
    /// Reading them is an error (`EIO`).
    Unreadable,
    /// They hold bytes that were never written, drawn from the seed and the sector number.
    Garbage {
        /// Where the bytes are drawn from.
        seed: u64,
    },
}

/// The sectors of a disk that cannot be read; nothing if all can.
pub(crate) type Unreadable = Option<Arc<BTreeSet<u64>>>;

/// What a sector that cannot be read adds to an identity: as a sector does where no disk has one.
pub(crate) fn mark(sector: u64) -> Identity {
    let mut bytes = ZERO_SECTOR;
    bytes[0] = 1;
    sector_identity(!sector, &bytes)
}

/// The bytes of a sector that holds garbage.
pub(crate) fn garbage(seed: u64, sector: u64) -> [u8; SECTOR_BYTES] {
    let mut bytes = ZERO_SECTOR;
    for (at, chunk) in bytes.chunks_exact_mut(16).enumerate() {
        let place = [sector.to_le_bytes(), (at as u64).to_le_bytes()].concat();
        chunk.copy_from_slice(&xxh3_128_with_seed(&place, seed).to_le_bytes());
    }
    bytes
}
