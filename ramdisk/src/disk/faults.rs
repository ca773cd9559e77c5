//! The faults of a disk's sectors.

use std::ops::Range;
use std::sync::Arc;

use nix::errno::Errno;

use super::Disk;
use crate::fault::{garbage, mark};
use crate::{Identity, ReadFault, SECTOR_BYTES, sector_identity};

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
    pub(super) fn heal(&mut self, sectors: Range<u64>) -> Identity {
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
