//! Metadata that is written in place: all of it without a journal, and the inode of a synced file
//! in the design with versions.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;
use explode_ramdisk::files::Result;
use explode_ramdisk::{Flags, Payload, SECTOR_BYTES};

use super::layout::INODE;
use super::volume::Volume;
use crate::broken::page_journal::{BLOCK, SECTORS};

impl Volume {
    /// Copies changed metadata, these sectors of one block, to the disk's cache, which may write it
    /// at any time.
    ///
    /// # Errors
    /// `EIO`: a block cannot be read.
    pub(super) fn dirty_buffer(&mut self, sectors: Range<u64>) -> Result<()> {
        self.disk.dirty(sectors.start, self.buffer(&sectors)?);
        self.buffers.insert(sectors.start, sectors.end);
        Ok(())
    }

    /// Drops the buffer of a block that holds no metadata any more.
    pub(super) fn forget_buffer(&mut self, block: u64) {
        if self.buffers.remove(&(block * SECTORS)).is_some() {
            self.disk.forget(block * SECTORS, BLOCK as u64);
        }
    }

    /// Makes everything durable in the design without a journal.
    pub(super) fn sync_in_place(&mut self) -> Result<()> {
        let data = std::mem::take(&mut self.data);
        self.write_out(&data)?;
        self.write_buffers(|_| true)?;
        self.disk.flush();
        self.running.clear();
        self.freed.clear();
        Ok(())
    }

    /// Makes only one file or directory durable in the design without a journal, like ext2.
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

    /// Makes one file durable past the journal, which may hold an older version of its inode. If
    /// the journal holds its indirect block, a replay would restore the older block, so everything
    /// is committed.
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
        // The other inodes of the sector keep their state on the disk.
        let sector = self.inode_sector(number);
        let (block, at) = self.place(number);
        let mut bytes = [0; SECTOR_BYTES];
        self.disk.try_read(sector, &mut bytes)?;
        bytes[at % SECTOR_BYTES..at % SECTOR_BYTES + INODE].copy_from_slice(&inode.encode());
        self.disk.write(sector, &bytes, Flags::FUA);
        self.journal.amend(block, at, &inode.encode());
        Ok(())
    }

    /// Returns the sector of an inode.
    pub(super) fn inode_sector(&self, number: u32) -> u64 {
        let (block, at) = self.place(number);
        block * SECTORS + (at / SECTOR_BYTES) as u64
    }

    /// Writes the buffers whose first sectors are `wanted`, and waits for them.
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
