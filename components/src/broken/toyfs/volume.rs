//! The blocks of a mounted file system: the journal, the running transaction, contents to be
//! written, and the free blocks.
//!
//! Invariants: metadata reaches its place only through the journal, except in `in_place.rs`. A
//! block is in `used` as long as an inode has it. It is allocated again only when it is in none of
//! `used`, `freed` and `resting`.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use explode_ramdisk::files::{FileKind, Result};
use explode_ramdisk::{Flags, Payload, RamDisk};
use nix::errno::Errno;

use super::design::{Design, Metadata, ToyFsBug};
use super::inode::{ToyInode, newer_inodes};
use super::layout::{APART, COUNT_APART, INODE, INODES, JOURNAL, PER_BLOCK, ROOT};
use crate::broken::page_journal::{BLOCK, Page, PageJournal, SECTORS};
use crate::engine::{Durability, EngineError};

/// A mounted volume.
#[derive(Debug)]
pub struct Volume {
    pub(super) disk: RamDisk,
    design: Design,
    pub(super) journal: PageJournal,
    /// The metadata blocks that the running transaction has changed.
    pub(super) running: BTreeMap<u64, Page>,
    /// The dirty metadata buffers of the design without a journal. The keys are their first
    /// sectors, the values the sectors after their last.
    pub(super) buffers: BTreeMap<u64, u64>,
    /// The blocks of contents that have changed since the last commit.
    pub(super) data: BTreeSet<u64>,
    used: BTreeSet<u64>,
    /// The blocks that the running transaction has freed.
    pub(super) freed: BTreeSet<u64>,
    /// The blocks that a committed transaction has freed while the journal may still hold them.
    resting: BTreeSet<u64>,
}

impl Volume {
    /// Returns true if this is the volume's bug.
    pub fn has(&self, bug: ToyFsBug) -> bool {
        self.design.bug == bug
    }

    /// Makes an empty file system.
    pub fn format(disk: RamDisk, design: Design) -> std::result::Result<(), EngineError> {
        PageJournal::format(disk.clone(), design.bug.of_journal(), JOURNAL);
        let mut volume = Volume::open(disk, design)?;
        volume.set_inode(ROOT, &ToyInode { links: 1, ..ToyInode::new(FileKind::Directory) })?;
        volume.commit()?;
        volume.checkpoint();
        Ok(())
    }

    /// Opens a volume and replays its journal.
    pub fn open(disk: RamDisk, design: Design) -> std::result::Result<Volume, EngineError> {
        let (clone, bug) = (disk.clone(), design.bug.of_journal());
        let journal = match design.metadata {
            Metadata::Versions => {
                PageJournal::open_merging(clone, bug, JOURNAL, Some(newer_inodes))
            }
            Metadata::Journal | Metadata::InPlace => PageJournal::open(clone, bug, JOURNAL),
        }?;
        let mut volume = Volume {
            disk,
            design,
            journal,
            running: BTreeMap::new(),
            buffers: BTreeMap::new(),
            data: BTreeSet::new(),
            used: BTreeSet::new(),
            freed: BTreeSet::new(),
            resting: BTreeSet::new(),
        };
        for number in 0..volume.count() {
            let inode = volume.inode(number)?;
            if inode.kind.is_some() {
                let blocks = inode.blocks(|block| volume.read(block))?;
                volume.used.extend(blocks);
            }
        }
        Ok(volume)
    }

    /// Returns the number of inodes.
    pub fn count(&self) -> u32 {
        if self.has_journal() { PER_BLOCK } else { COUNT_APART }
    }

    /// Returns true if the design has a journal.
    pub fn has_journal(&self) -> bool {
        self.design.metadata != Metadata::InPlace
    }

    /// Returns true if a block may hold contents, directory entries or block numbers.
    pub fn is_for_files(&self, block: u64) -> bool {
        (INODES.end..self.disk.sectors() / SECTORS).contains(&block)
    }

    /// Returns `block` if it can be a block of a file.
    ///
    /// # Errors
    /// `EIO`: the pointer is damaged.
    pub fn legal(&self, block: u64) -> Result<u64> {
        if self.is_for_files(block) { Ok(block) } else { Err(Errno::EIO) }
    }

    /// Returns the current contents of a metadata block.
    ///
    /// # Errors
    /// `EIO`: the block cannot be read.
    pub fn read(&self, block: u64) -> Result<Page> {
        match self.running.get(&block) {
            Some(page) => Ok(page.clone()),
            None if self.is_for_files(block) || block < INODES.end => self.journal.read(block),
            // The pointer is damaged. Blocks beyond the end of the disk read as zeroes.
            None => Ok(vec![0; BLOCK]),
        }
    }

    /// Changes a metadata block.
    ///
    /// # Errors
    /// `EIO`: a block cannot be read.
    pub fn write_metadata(&mut self, block: u64, page: Page) -> Result<()> {
        self.running.insert(block, page);
        if !self.has_journal() {
            self.dirty_buffer(block * SECTORS..(block + 1) * SECTORS)?;
        }
        Ok(())
    }

    /// Returns the current contents of a file's block.
    ///
    /// # Errors
    /// `EIO`: the block cannot be read.
    pub fn read_data(&self, block: u64) -> Result<Page> {
        let mut page = vec![0; BLOCK];
        if self.is_for_files(block) {
            self.disk.try_read(block * SECTORS, &mut page)?;
        }
        Ok(page)
    }

    /// Changes a file's block in the disk's cache, which may write it at any time.
    pub fn write_data(&mut self, block: u64, page: Page) {
        self.journal.forget(block);
        self.disk.dirty(block * SECTORS, Bytes::from(page));
        self.data.insert(block);
    }

    /// Allocates a free block.
    ///
    /// # Errors
    /// `ENOSPC`.
    pub fn allocate(&mut self) -> Result<u64> {
        let blocks = INODES.end..self.disk.sectors() / SECTORS;
        let taken = |block: &u64| {
            [&self.used, &self.freed, &self.resting].iter().any(|set| set.contains(block))
        };
        let block = blocks.into_iter().find(|block| !taken(block)).ok_or(Errno::ENOSPC)?;
        self.used.insert(block);
        Ok(block)
    }

    /// Frees a block. Block 0 is ignored.
    pub fn free(&mut self, block: u64) {
        if !self.used.remove(&block) {
            return;
        }
        if self.data.remove(&block) {
            self.disk.forget(block * SECTORS, BLOCK as u64);
        }
        self.running.remove(&block);
        self.forget_buffer(block);
        if !matches!(self.design.bug, ToyFsBug::EarlyReuse | ToyFsBug::BlockReuse) {
            self.freed.insert(block);
        }
    }

    /// Returns the current state of an inode.
    ///
    /// # Errors
    /// `EIO`: the inode cannot be read, or there is no inode of this number, so the name that leads
    /// to it is damaged.
    pub fn inode(&self, number: u32) -> Result<ToyInode> {
        if number >= self.count() {
            return Err(Errno::EIO);
        }
        let (block, at) = self.place(number);
        let mut bytes = [0; INODE];
        match self.running.get(&block) {
            Some(page) => bytes.copy_from_slice(&page[at..at + INODE]),
            None => self.journal.read_part(block, at, &mut bytes)?,
        }
        Ok(ToyInode::decode(&bytes))
    }

    /// Changes an inode. In the design with versions, its version becomes one more than that of the
    /// last inode with this number.
    ///
    /// # Errors
    /// `EIO`: a block cannot be read.
    pub fn set_inode(&mut self, number: u32, inode: &ToyInode) -> Result<()> {
        let (block, at) = self.place(number);
        let mut inode = inode.clone();
        if self.design.metadata == Metadata::Versions {
            let before = self.inode(number)?;
            let begins_anew = self.design.bug == ToyFsBug::InodeReuse && before.kind.is_none();
            inode.version = if begins_anew { 1 } else { before.version.wrapping_add(1) };
        }
        let mut page = self.read(block)?;
        page[at..at + INODE].copy_from_slice(&inode.encode());
        self.running.insert(block, page);
        if !self.has_journal() {
            let sector = self.inode_sector(number);
            self.dirty_buffer(sector..sector + 1)?;
        }
        Ok(())
    }

    /// Records a change of a directory's names as a change of its inode, in the design with
    /// versions.
    ///
    /// # Errors
    /// `EIO`: a block cannot be read.
    pub fn touch(&mut self, directory: u32) -> Result<()> {
        if self.design.metadata == Metadata::Versions {
            self.set_inode(directory, &self.inode(directory)?)?;
        }
        Ok(())
    }

    /// Returns true if the running transaction is so large that it must be committed before the
    /// next operation.
    pub fn is_full(&self) -> bool {
        self.has_journal() && self.running.len() > self.journal.most_pages() / 2
    }

    /// Makes everything durable: contents first, then the transaction that makes them reachable.
    ///
    /// # Errors
    /// `EIO`: a block cannot be read.
    pub fn commit(&mut self) -> Result<()> {
        if !self.has_journal() {
            return self.sync_in_place();
        }
        let data = std::mem::take(&mut self.data);
        if self.design.bug != ToyFsBug::DataAfterCommit {
            self.write_out(&data)?;
        }
        let running = std::mem::take(&mut self.running);
        if running.is_empty() {
            if !data.is_empty() {
                self.disk.flush();
            }
        } else {
            if !self.journal.has_room(running.len()) {
                self.checkpoint();
            }
            self.journal.commit(0, running, Durability::Synced);
        }
        let freed = std::mem::take(&mut self.freed);
        if self.design.bug != ToyFsBug::NoRevoke {
            self.resting.extend(freed);
        }
        if self.design.bug == ToyFsBug::DataAfterCommit {
            self.write_out(&data)?;
        }
        Ok(())
    }

    /// Writes all committed metadata in place.
    pub fn checkpoint(&mut self) {
        self.journal.checkpoint();
        self.resting.clear();
    }

    /// Makes one file durable. Unless the design has a shorter way, everything is committed.
    ///
    /// # Errors
    /// `EIO`: a block cannot be read.
    pub fn commit_file(&mut self, number: u32) -> Result<()> {
        match (self.design.metadata, self.design.bug) {
            (Metadata::InPlace, _) => self.sync_one_in_place(number),
            (Metadata::Versions, _) => self.sync_one_past_journal(number),
            (Metadata::Journal, ToyFsBug::FsyncInPlace) => {
                let data = std::mem::take(&mut self.data);
                self.write_out(&data)?;
                let (block, _) = self.place(number);
                let indirect = u64::from(self.inode(number)?.indirect);
                for block in [indirect, block].into_iter().filter(|block| *block != 0) {
                    self.disk.write(block * SECTORS, &self.read(block)?, Flags::NONE);
                }
                self.disk.flush();
                Ok(())
            }
            (Metadata::Journal, _) => self.commit(),
        }
    }

    /// Makes the names of a directory durable. With a journal, everything is committed.
    ///
    /// # Errors
    /// `EIO`: a block cannot be read.
    pub fn commit_directory(&mut self, number: u32) -> Result<()> {
        if self.has_journal() { self.commit() } else { self.sync_one_in_place(number) }
    }

    /// Writes blocks of contents and waits for them.
    ///
    /// # Errors
    /// `EIO`: they cannot be read.
    pub(super) fn write_out(&self, blocks: &BTreeSet<u64>) -> Result<()> {
        let submit = |block: &u64| {
            let page = self.read_data(*block)?.into();
            Ok(self.disk.submit(block * SECTORS, Payload::Data(page), Flags::NONE))
        };
        let requests = blocks.iter().map(submit).collect::<Result<Vec<_>>>()?;
        requests.into_iter().for_each(|request| self.disk.complete(request));
        Ok(())
    }

    /// Returns the block of an inode and the inode's first byte in it.
    pub(super) fn place(&self, number: u32) -> (u64, usize) {
        (INODES.start, number as usize * if self.has_journal() { INODE } else { APART })
    }
}
