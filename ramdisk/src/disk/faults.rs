//! The faults of a disk and of its sectors.

use std::ops::Range;
use std::sync::Arc;

use nix::errno::Errno;

use super::Disk;
use crate::fault::{Condition, garbage, mark};
use crate::{Damage, Identity, ReadFault, SECTOR_BYTES, SECTORS_PER_BLOCK, sector_identity};

impl Disk {
    /// Damages the disk as a crash leaves it. A disk that is out of reach only until the crash has
    /// its contents.
    pub fn damage(&mut self, damage: &Damage) {
        match damage {
            Damage::Sectors(sectors, ReadFault::Garbage { seed }) => {
                sectors.clone().for_each(|sector| self.write(sector, &garbage(*seed, sector)))
            }
            Damage::Sectors(sectors, ReadFault::Unreadable) => {
                let set = Arc::make_mut(self.unreadable.get_or_insert_default());
                for sector in sectors.clone() {
                    if set.insert(sector) {
                        self.identity += mark(sector);
                    }
                }
            }
            Damage::Disk(fault) => {
                self.identity -= self.condition.mark();
                self.condition = Condition::after(*fault);
                self.identity += self.condition.mark();
            }
        }
    }

    /// Returns the condition of the disk as a whole.
    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// Returns true if the disk, or a sector of it, has a fault that a reader can notice.
    pub fn is_damaged(&self) -> bool {
        self.unreadable.is_some() || self.condition != Condition::Sound
    }

    /// Returns the sectors that cannot be read, in order.
    pub fn unreadable(&self) -> impl Iterator<Item = u64> + '_ {
        self.unreadable.iter().flat_map(|set| set.iter().copied())
    }

    /// Returns `EIO` if the disk has failed or one of `len` bytes from `offset` on cannot be read.
    pub fn readable(&self, offset: u64, len: usize) -> Result<(), Errno> {
        if self.condition == Condition::Failed {
            return Err(Errno::EIO);
        }
        let Some(set) = &self.unreadable else { return Ok(()) };
        let sector = SECTOR_BYTES as u64;
        let sectors = offset / sector..(offset + len as u64).div_ceil(sector);
        if sectors.is_empty() || set.range(sectors).next().is_none() {
            Ok(())
        } else {
            Err(Errno::EIO)
        }
    }

    /// Returns the share of each sector of a range in the disk's identity, its fault included, in
    /// order.
    ///
    /// Readable sectors of zeroes add nothing and are omitted. The cost depends on the blocks that
    /// are present, not on the length of the range.
    pub fn shares(&self, range: Range<u64>) -> Vec<(u64, Identity)> {
        let mut shares = Vec::new();
        let blocks = range.start / SECTORS_PER_BLOCK..range.end.div_ceil(SECTORS_PER_BLOCK);
        for (block, bytes) in self.blocks.range(blocks) {
            let sectors = (block * SECTORS_PER_BLOCK..).zip(bytes.chunks_exact(SECTOR_BYTES));
            let within = sectors.filter(|(sector, _)| range.contains(sector));
            let contents = within.map(|(sector, bytes)| (sector, sector_identity(sector, bytes)));
            shares.extend(contents.filter(|(_, share)| *share != Identity::default()));
        }
        for sector in self.unreadable.iter().flat_map(|set| set.range(range.clone()).copied()) {
            match shares.binary_search_by_key(&sector, |(sector, _)| *sector) {
                Ok(at) => shares[at].1 += mark(sector),
                Err(at) => shares.insert(at, (sector, mark(sector))),
            }
        }
        shares
    }

    /// Makes written sectors readable again. Returns the share of their faults in the identity. The
    /// caller updates the identity.
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
