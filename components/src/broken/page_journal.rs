//! A journal of pages, for systems on a block device.
//!
//! A transaction is a descriptor that lists the pages, the pages, and a commit block. The
//! descriptor and the pages are written to the journal and waited for. Then the commit block is
//! written with PREFLUSH, so that it is never durable before them, and with FUA. A checkpoint
//! flushes, writes the pages in place, flushes, and writes the header with FUA. Then the journal is
//! empty. Opening replays the transactions whose sequence numbers follow the header's.
//!
//! All positions are in blocks of 4096 bytes. The header is one sector in a block of its own. The
//! block after it is free.

use std::collections::BTreeMap;
use std::ops::Range;

use explode_ramdisk::{Flags, Payload, RamDisk, SECTOR_BYTES};
use explode_runtime::base::StepError;
use nix::errno::Errno;

use super::record::{Frame, frame};
use crate::engine::{Durability, EngineError};

/// The size of a block in bytes.
pub const BLOCK: usize = 4096;
/// The number of sectors of a block.
pub const SECTORS: u64 = (BLOCK / SECTOR_BYTES) as u64;
const COMMIT: &[u8] = b"commit";

/// The contents of a block.
pub type Page = Vec<u8>;

/// A transaction of the journal: its note, and the new pages by block.
type Transaction = (u64, Vec<(u64, Page)>);

/// Adjusts a block's page of a transaction during replay, given the block's contents before it.
pub type PageMerge = fn(block: u64, before: &Page, page: &mut Page);

/// Checks that a disk is large enough to be formatted.
///
/// # Errors
/// The disk has fewer than `least` sectors.
pub fn has_room(disk: &RamDisk, least: u64) -> Result<(), StepError> {
    if disk.sectors() < least {
        return Err(StepError::new(format!(
            "needs a disk of {least} sectors at least, and has {}",
            disk.sectors()
        )));
    }
    Ok(())
}

/// The bug of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageJournalBug {
    /// The journal is correct.
    #[default]
    None,
    /// The commit block does not flush the writes before it.
    NoPreflush,
    /// The commit block may stay in the disk's cache.
    NoFua,
    /// A flush that is submitted before the writes have completed replaces PREFLUSH.
    NoWait,
    /// A commit block counts whatever its sequence number.
    StaleCommit,
    /// The header takes two blocks.
    TornHeader,
    /// A checkpoint does not flush the pages before it writes the header.
    CheckpointNoFlush,
    /// Recovery writes the header first, and then the pages.
    RecoveryNotIdempotent,
}

impl PageJournalBug {
    /// The option values of the bugs.
    pub const WORDS: [(&'static str, PageJournalBug); 8] = [
        ("none", PageJournalBug::None),
        ("no-preflush", PageJournalBug::NoPreflush),
        ("no-fua", PageJournalBug::NoFua),
        ("no-wait", PageJournalBug::NoWait),
        ("stale-commit", PageJournalBug::StaleCommit),
        ("torn-header", PageJournalBug::TornHeader),
        ("checkpoint-no-flush", PageJournalBug::CheckpointNoFlush),
        ("recovery-not-idempotent", PageJournalBug::RecoveryNotIdempotent),
    ];
}

/// An open journal.
#[derive(Debug)]
pub struct PageJournal {
    disk: RamDisk,
    bug: PageJournalBug,
    /// The blocks of the journal. The header is in the first. The second is free.
    place: Range<u64>,
    /// The sequence number of the last commit.
    sequence: u64,
    /// The note of the last commit.
    note: u64,
    /// The block of the next transaction.
    head: u64,
    /// The committed pages that are not in place yet.
    moved: BTreeMap<u64, Page>,
}

impl PageJournal {
    /// Formats an empty journal.
    pub fn format(disk: RamDisk, bug: PageJournalBug, place: Range<u64>) {
        PageJournal::empty(disk, bug, place).write_header();
    }

    fn empty(disk: RamDisk, bug: PageJournalBug, place: Range<u64>) -> PageJournal {
        let head = place.start + 2;
        PageJournal { disk, bug, place, sequence: 0, note: 0, head, moved: BTreeMap::new() }
    }

    /// Opens a journal, replays its transactions and writes their pages in place.
    ///
    /// # Errors
    /// The header is damaged; a sector cannot be read.
    pub fn open(
        disk: RamDisk,
        bug: PageJournalBug,
        place: Range<u64>,
    ) -> Result<PageJournal, EngineError> {
        PageJournal::open_merging(disk, bug, place, None)
    }

    /// Opens a journal like [`open`](PageJournal::open). `merge` adjusts each replayed page, given
    /// the block's contents before it.
    ///
    /// # Errors
    /// The header is damaged; a sector cannot be read.
    pub fn open_merging(
        disk: RamDisk,
        bug: PageJournalBug,
        place: Range<u64>,
        merge: Option<PageMerge>,
    ) -> Result<PageJournal, EngineError> {
        let mut journal = PageJournal::empty(disk, bug, place);
        (journal.sequence, journal.note) = journal.read_header()?;
        while let Some((note, pages)) = journal.read_transaction()? {
            journal.head += pages.len() as u64 + 2;
            journal.sequence += 1;
            journal.note = note;
            for (block, mut page) in pages {
                if let Some(merge) = merge {
                    merge(block, &journal.read(block)?, &mut page);
                }
                journal.moved.insert(block, page);
            }
        }
        if bug == PageJournalBug::RecoveryNotIdempotent && !journal.moved.is_empty() {
            journal.write_header();
        }
        journal.checkpoint();
        Ok(journal)
    }

    /// Returns the sequence number of the last commit.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the note of the last commit.
    pub fn note(&self) -> u64 {
        self.note
    }

    /// Returns a block as it is after the last commit.
    ///
    /// # Errors
    /// `EIO`: the block cannot be read.
    pub fn read(&self, block: u64) -> Result<Page, Errno> {
        self.moved.get(&block).map_or_else(|| self.read_disk(block), |page| Ok(page.clone()))
    }

    /// Reads a part of a block from byte `at` on. The part must lie within one sector.
    ///
    /// # Errors
    /// `EIO`: the block cannot be read.
    pub fn read_part(&self, block: u64, at: usize, buf: &mut [u8]) -> Result<(), Errno> {
        match self.moved.get(&block) {
            Some(page) => buf.copy_from_slice(&page[at..at + buf.len()]),
            None => {
                let mut sector = [0; SECTOR_BYTES];
                self.disk.try_read(block * SECTORS + (at / SECTOR_BYTES) as u64, &mut sector)?;
                buf.copy_from_slice(&sector[at % SECTOR_BYTES..at % SECTOR_BYTES + buf.len()]);
            }
        }
        Ok(())
    }

    /// Returns the largest number of pages of a transaction.
    pub fn most_pages(&self) -> usize {
        (self.place.end - self.place.start - 4) as usize
    }

    /// Returns true if a transaction of `pages` pages fits without a checkpoint before it.
    pub fn has_room(&self, pages: usize) -> bool {
        self.head + pages as u64 + 2 <= self.place.end
    }

    /// Commits all pages atomically.
    ///
    /// # Panics
    /// There is no room for them.
    pub fn commit(&mut self, note: u64, pages: BTreeMap<u64, Page>, durability: Durability) {
        assert!(self.has_room(pages.len()), "a transaction of {} pages has no room", pages.len());
        self.write_ahead(note, &pages);
        let flags = Flags {
            fua: durability == Durability::Synced && self.bug != PageJournalBug::NoFua,
            preflush: !matches!(self.bug, PageJournalBug::NoPreflush | PageJournalBug::NoWait),
        };
        let mut sector = frame(self.sequence + 1, COMMIT);
        sector.resize(SECTOR_BYTES, 0);
        self.disk.write((self.head + 1 + pages.len() as u64) * SECTORS, &sector, flags);
        self.head += pages.len() as u64 + 2;
        self.sequence += 1;
        self.note = note;
        self.moved.extend(pages);
    }

    /// Drops the page of a block that has another owner now, so that it is not written in place. A
    /// later open of the journal replays it.
    pub fn forget(&mut self, block: u64) {
        self.moved.remove(&block);
    }

    /// Returns true if the journal has a page for the block that is not in place yet.
    pub fn holds(&self, block: u64) -> bool {
        self.moved.contains_key(&block)
    }

    /// Updates the journal's page with bytes that were written in place past the journal, so that a
    /// checkpoint keeps them.
    pub fn amend(&mut self, block: u64, at: usize, bytes: &[u8]) {
        if let Some(page) = self.moved.get_mut(&block) {
            page[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Writes all pages in place and empties the journal.
    pub fn checkpoint(&mut self) {
        if self.moved.is_empty() {
            return;
        }
        self.disk.flush();
        for (block, page) in std::mem::take(&mut self.moved) {
            self.disk.write(block * SECTORS, &page, Flags::NONE);
        }
        if self.bug != PageJournalBug::CheckpointNoFlush {
            self.disk.flush();
        }
        self.write_header();
        self.head = self.place.start + 2;
    }

    /// Writes a descriptor and the pages that it lists. With [`PageJournalBug::NoWait`] it flushes
    /// before they have completed.
    fn write_ahead(&self, note: u64, pages: &BTreeMap<u64, Page>) {
        let numbers = [note].into_iter().chain(pages.keys().copied());
        let mut descriptor =
            frame(self.sequence + 1, &numbers.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
        descriptor.resize(BLOCK, 0);
        let blocks = [&descriptor].into_iter().chain(pages.values()).zip(self.head..);
        let submit = |(page, at): (&Page, u64)| {
            self.disk.submit(at * SECTORS, Payload::Data(page.clone().into()), Flags::NONE)
        };
        let requests: Vec<_> = blocks.map(submit).collect();
        let early = (self.bug == PageJournalBug::NoWait).then(|| self.disk.submit_flush());
        requests.into_iter().chain(early).for_each(|request| self.disk.complete(request));
    }

    /// Reads the transaction at the head. `None` if the next transaction is not there.
    fn read_transaction(&self) -> Result<Option<Transaction>, Errno> {
        let sequence = self.sequence + 1;
        if self.head >= self.place.end {
            return Ok(None);
        }
        let descriptor = self.read_disk(self.head)?;
        let is_next = |frame: &Frame<'_>| frame.sound && frame.sequence == sequence;
        let Some(descriptor) = Frame::read(&descriptor).filter(is_next) else {
            return Ok(None);
        };
        let mut numbers = descriptor.body.chunks_exact(8);
        let mut number =
            || numbers.next().map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        let Some(note) = number() else {
            return Ok(None);
        };
        let pages = std::iter::from_fn(number)
            .zip(self.head + 1..)
            .map(|(page, block)| Ok((page, self.read_disk(block)?)))
            .collect::<Result<Vec<_>, Errno>>()?;
        let commit = self.read_disk(self.head + 1 + pages.len() as u64)?;
        let commit = Frame::read(&commit).filter(|frame| frame.sound && frame.body == COMMIT);
        let counts = |commit: Frame<'_>| {
            commit.sequence == sequence || self.bug == PageJournalBug::StaleCommit
        };
        Ok(commit.is_some_and(counts).then_some((note, pages)))
    }

    fn read_disk(&self, block: u64) -> Result<Page, Errno> {
        let mut page = vec![0; BLOCK];
        self.disk.try_read(block * SECTORS, &mut page)?;
        Ok(page)
    }

    /// Reads the sequence number and the note of the last commit that is in place.
    fn read_header(&self) -> Result<(u64, u64), EngineError> {
        let damaged = || EngineError::Corrupt("the journal's header is damaged".to_owned());
        let numbers = |block: u64| {
            let page = self.read_disk(block)?;
            let frame = Frame::read(&page).filter(|frame| frame.sound).ok_or_else(damaged)?;
            let note = frame.body.try_into().map_err(|_| damaged())?;
            Ok::<_, EngineError>((frame.sequence, u64::from_le_bytes(note)))
        };
        let (sequence, note) = numbers(self.place.start)?;
        match self.bug {
            PageJournalBug::TornHeader => Ok((sequence, numbers(self.place.start + 1)?.1)),
            _ => Ok((sequence, note)),
        }
    }

    fn write_header(&self) {
        let mut header = frame(self.sequence, &self.note.to_le_bytes());
        header.resize(SECTOR_BYTES, 0);
        if self.bug == PageJournalBug::TornHeader {
            header.resize(BLOCK, 0);
            header = header.repeat(2);
        }
        self.disk.write(self.place.start * SECTORS, &header, Flags::FUA);
    }
}
