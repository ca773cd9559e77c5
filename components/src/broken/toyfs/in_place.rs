//! Metadata that is written in place: all of it where there is no journal, the inode of a file that
//! is synced where inodes have versions.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;
use explode_ramdisk::files::Result;
use explode_ramdisk::{Flags, Payload, SECTOR_BYTES};

use super::layout::INODE;
use super::volume::Volume;
use crate::broken::page_journal::{BLOCK, SECTORS};

impl Volume {
    /// Metadata has changed in the cache, from where it may be written at any time: these sectors
    /// of one block.
    ///
    /// # Errors
    /// `EIO`, as for all that reads.
    pub(super) fn dirty_buffer(&mut self, sectors: Range<u64>) -> Result<()> {
        self.disk.dirty(sectors.start, self.buffer(&sectors)?);
        self.buffers.insert(sectors.start, sectors.end);
        Ok(())
    }

    /// Forgets the buffer of a block that holds no metadata any more.
    pub(super) fn forget_buffer(&mut self, block: u64) {
        if self.buffers.remove(&(block * SECTORS)).is_some() {
            self.disk.forget(block * SECTORS, BLOCK as u64);
        }
    }

    /// Makes everything durable, where there is no journal.
    pub(super) fn sync_in_place(&mut self) -> Result<()> {
        let data = std::mem::take(&mut self.data);
        self.write_out(&data)?;
        self.write_buffers(|_| true)?;
        self.disk.flush();
        self.running.clear();
        self.freed.clear();
        Ok(())
    }

    /// Makes one file or directory durable, and nothing else, where there is no journal: as ext2
    /// does it.
    pub(super) fn sync_one_in_place(&mut self, number: u32) -> Result<()> {
        let blocks: BTreeSet<u64> =
            self.inode(number)?.blocks(|block| self.read(block))?.into_iter().collect();
        let data = self.data.intersection(&blocks).copied().collect();
        self.write_out(&data)?;
        self.data.retain(|block| !data.contains(block));
        let inode = self.inode_sector(number);
        self.write_buffers(|sector| sector == inode || blocks.contains(&(sector / SECTORS)))?;
        self.disk.flush();
        Ok(())
    }

    /// Makes one file durable past the journal, which may hold an older inode of it; what it holds
    /// of its other metadata is older for good, so that then everything is committed.
    pub(super) fn sync_one_past_journal(&mut self, number: u32) -> Result<()> {
        let inode = self.inode(number)?;
        let indirect = Some(u64::from(inode.indirect)).filter(|block| *block != 0);
        if indirect.is_some_and(|block| self.journal.holds(block)) {
            return self.commit();
        }
        let data = std::mem::take(&mut self.data);
        self.write_out(&data)?;
        if let Some(block) = indirect {
            self.disk.write(block * SECTORS, &self.read(block)?, Flags::NONE);
        }
        self.disk.flush();
        // The other inodes of its sector stay as they are there.
        let sector = self.inode_sector(number);
        let (block, at) = self.place(number);
        let mut bytes = [0; SECTOR_BYTES];
        self.disk.try_read(sector, &mut bytes)?;
        bytes[at % SECTOR_BYTES..at % SECTOR_BYTES + INODE].copy_from_slice(&inode.encode());
        self.disk.write(sector, &bytes, Flags::FUA);
        self.journal.amend(block, at, &inode.encode());
        Ok(())
    }

    /// The sector that an inode is in.
    pub(super) fn inode_sector(&self, number: u32) -> u64 {
        let (block, at) = self.place(number);
        block * SECTORS + (at / SECTOR_BYTES) as u64
    }

    /// Writes the buffers that are wanted, by their first sectors, and waits for them.
    fn write_buffers(&mut self, wanted: impl Fn(u64) -> bool) -> Result<()> {
        let chosen: Vec<Range<u64>> = self
            .buffers
            .iter()
            .filter(|(first, _)| wanted(**first))
            .map(|(first, end)| *first..*end)
            .collect();
        let submit = |sectors: &Range<u64>| {
            Ok(self.disk.submit(sectors.start, Payload::Data(self.buffer(sectors)?), Flags::NONE))
        };
        let requests = chosen.iter().map(submit).collect::<Result<Vec<_>>>()?;
        requests.into_iter().for_each(|request| self.disk.complete(request));
        self.buffers.retain(|first, _| !wanted(*first));
        Ok(())
    }

    fn buffer(&self, sectors: &Range<u64>) -> Result<Bytes> {
        let first = (sectors.start % SECTORS) as usize * SECTOR_BYTES;
        let len = (sectors.end - sectors.start) as usize * SECTOR_BYTES;
        Ok(Bytes::from(self.read(sectors.start / SECTORS)?).slice(first..first + len))
    }
}
