//! A key-value store on a block device. Its contents fill the pages after a
//! [journal](super::super::page_journal), which changes them. The journal's note is the length of
//! the contents in bytes. The last sector of the device holds the number of commits, for
//! information only. It is changed in the cache. Nothing waits for it or relies on it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use explode_ramdisk::{RamDisk, SECTOR_BYTES};
use explode_runtime::base::{Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef};
use nix::errno::Errno;

use super::{StoreComponent, StoreKind};
use crate::broken::page_journal::{BLOCK, Page, PageJournal, PageJournalBug, SECTORS, has_room};
use crate::broken::record::{as_changes, decode, encode};
use crate::engine::{Change, Durability, EngineError, KeyValue, StoreContents};

/// The name in the registry.
pub const NAME: &str = "journal-kv";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "a small key-value store with a journal of pages; with a bug, if one is named",
        build,
    )
    .modes([Mode::Mem])
    .on("ramdisk")
    .options([OptionDef {
        name: "bug",
        about: "none, no-preflush, no-fua, no-wait, stale-commit, torn-header, \
                checkpoint-no-flush, recovery-not-idempotent",
        default: "none",
    }])
}

/// The blocks of the journal. The pages follow them.
const JOURNAL: std::ops::Range<u64> = 0..64;
/// The smallest device: the journal, one page and the last sector.
const LEAST_SECTORS: u64 = (JOURNAL.end + 1) * SECTORS + 1;

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(StoreComponent::boxed(options.one_of("bug", &PageJournalBug::WORDS)?))
}

struct Journaled {
    disk: RamDisk,
    state: RefCell<(PageJournal, StoreContents)>,
}

impl StoreKind for PageJournalBug {
    fn create(&self, below: &Below<'_>) -> Result<(), StepError> {
        let disk = below.disk(0)?;
        has_room(&disk, LEAST_SECTORS)?;
        PageJournal::format(disk, *self, JOURNAL);
        Ok(())
    }

    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, StepError> {
        let disk = below.disk(0)?;
        let journal = PageJournal::open(disk.clone(), *self, JOURNAL)?;
        let contents = read(&journal)?;
        Ok(Rc::new(Journaled { disk, state: RefCell::new((journal, contents)) }))
    }
}

impl Journaled {
    /// Writes the number of commits to the last sector, in the cache.
    fn report_progress(&self, commits: u64) {
        let mut sector = [0; SECTOR_BYTES];
        sector[..size_of::<u64>()].copy_from_slice(&commits.to_le_bytes());
        self.disk.dirty(self.disk.sectors() - 1, Bytes::copy_from_slice(&sector));
    }
}

fn read(journal: &PageJournal) -> Result<StoreContents, EngineError> {
    let bytes = journal.note() as usize;
    let pages = bytes.div_ceil(BLOCK) as u64;
    let pages = (0..pages)
        .map(|page| journal.read(JOURNAL.end + page))
        .collect::<Result<Vec<Page>, _>>()?;
    let mut encoded = pages.concat();
    encoded.truncate(bytes);
    let damaged = || EngineError::Corrupt("the pages are damaged".to_owned());
    let mut contents = StoreContents::new();
    decode(&encoded).ok_or_else(damaged)?.iter().for_each(|change| change.apply(&mut contents));
    Ok(contents)
}

impl KeyValue for Journaled {
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), EngineError> {
        let (journal, contents) = &mut *self.state.borrow_mut();
        let mut next = contents.clone();
        changes.iter().for_each(|change| change.apply(&mut next));
        let encoded = encode(&as_changes(&next));
        let room = ((self.disk.sectors() - 1) / SECTORS - JOURNAL.end) as usize;
        if encoded.len().div_ceil(BLOCK) > journal.most_pages().min(room) {
            return Err(Errno::ENOSPC.into());
        }
        let page = |bytes: &[u8]| [bytes, &[0; BLOCK][bytes.len()..]].concat();
        let mut changed = BTreeMap::new();
        for (block, page) in (JOURNAL.end..).zip(encoded.chunks(BLOCK).map(page)) {
            if journal.read(block)? != page {
                changed.insert(block, page);
            }
        }
        if !journal.has_room(changed.len()) {
            journal.checkpoint();
        }
        journal.commit(encoded.len() as u64, changed, durability);
        *contents = next;
        self.report_progress(journal.sequence());
        Ok(())
    }

    fn checkpoint(&self) -> Result<(), EngineError> {
        self.state.borrow_mut().0.checkpoint();
        Ok(())
    }

    fn contents(&self) -> Result<StoreContents, EngineError> {
        Ok(self.state.borrow().1.clone())
    }
}
