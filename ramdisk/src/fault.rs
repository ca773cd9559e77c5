//! Faults of the medium: sectors that cannot be read any more, or hold something else.
//!
//! They are part of what a disk holds, its [`Identity`] included, so a copy of a disk has them too. A sector that is written is
//! good again, as disks give it another place then.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use nix::errno::Errno;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::disk::ZERO_SECTOR;
use crate::{Disk, Identity, Image, SECTOR_BYTES, sector_identity};

/// What becomes of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadFault {
    /// Reading them is an error (`EIO`).
    Unreadable,
    /// They hold bytes that nobody has written, the same for the same seed and sector.
    Garbage {
        /// Where the bytes are drawn from.
        seed: u64,
    },
}

/// The sectors of a disk that cannot be read; nothing if all can.
pub(crate) type Unreadable = Option<Arc<BTreeSet<u64>>>;

impl Disk {
    /// Sectors go bad.
    pub fn spoil(&mut self, sectors: Range<u64>, fault: ReadFault) {
        match fault {
            ReadFault::Garbage { seed } => {
                sectors.for_each(|sector| self.write(sector, &garbage(seed, sector)))
            }
            ReadFault::Unreadable => {
                let set = Arc::make_mut(self.unreadable.get_or_insert_default());
                for sector in sectors {
                    if set.insert(sector) {
                        self.identity += mark(sector);
                    }
                }
            }
        }
    }

    /// The sectors that cannot be read, in order.
    pub fn unreadable(&self) -> impl Iterator<Item = u64> + '_ {
        self.unreadable.iter().flat_map(|set| set.iter().copied())
    }

    /// `EIO` if one of `len` bytes from `offset` on cannot be read.
    pub fn readable(&self, offset: u64, len: usize) -> Result<(), Errno> {
        let Some(set) = &self.unreadable else { return Ok(()) };
        let sector = SECTOR_BYTES as u64;
        let sectors = offset / sector..(offset + len as u64).div_ceil(sector);
        if sectors.is_empty() || set.range(sectors).next().is_none() { Ok(()) } else { Err(Errno::EIO) }
    }

    /// What one of its sectors adds to the disk's identity, its fault included.
    pub fn share_of(&self, sector: u64) -> Identity {
        let contents = sector_identity(sector, self.sector(sector));
        let bad = self.unreadable.as_ref().is_some_and(|set| set.contains(&sector));
        if bad { contents + mark(sector) } else { contents }
    }

    /// The sectors of a range that add something to the disk's identity: that hold anything but zeroes, or cannot be read. A sector
    /// may come twice. Costs what is there, not the length of the range.
    pub fn sectors_with_a_share(&self, range: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let bad = self.unreadable.iter().flat_map({
            let range = range.clone();
            move |set| set.range(range.clone()).copied()
        });
        self.used_sectors(range).chain(bad)
    }

    /// Sectors are written, and good again; returns what their faults had added to the identity, which is left as it is.
    pub(crate) fn heal(&mut self, sectors: Range<u64>) -> Identity {
        let mut had = Identity::default();
        let Some(set) = &mut self.unreadable else { return had };
        let healed: Vec<u64> = set.range(sectors).copied().collect();
        if !healed.is_empty() {
            let set = Arc::make_mut(set);
            for sector in healed {
                set.remove(&sector);
                had += mark(sector);
            }
            if set.is_empty() {
                self.unreadable = None;
            }
        }
        had
    }
}

impl Image {
    /// Is there a sector that cannot be read?
    pub fn has_unreadable(&self) -> bool {
        self.devices().any(|dev| self.disk(dev).is_some_and(|disk| disk.unreadable.is_some()))
    }
}

/// What a sector that cannot be read adds to an identity: as a sector does where no disk has one.
fn mark(sector: u64) -> Identity {
    let mut bytes = ZERO_SECTOR;
    bytes[0] = 1;
    sector_identity(!sector, &bytes)
}

fn garbage(seed: u64, sector: u64) -> [u8; SECTOR_BYTES] {
    let mut bytes = ZERO_SECTOR;
    for (at, chunk) in bytes.chunks_exact_mut(16).enumerate() {
        let place = [sector.to_le_bytes(), (at as u64).to_le_bytes()].concat();
        chunk.copy_from_slice(&xxh3_128_with_seed(&place, seed).to_le_bytes());
    }
    bytes
}
