//! A key-value store on a block device, with a journal of pages.
//!
//! | blocks of 4096 bytes | what |
//! | --- | --- |
//! | 0 | the header, one sector: how far the pages are, in commits and in bytes |
//! | 1 | nothing; with a bug, a part of the header |
//! | 2 - 31 | the pages: the contents, one after the other |
//! | 32 - 95 | the journal |
//!
//! A commit writes a descriptor (which pages) and the pages that have changed to the journal, waits for them, and then writes a
//! commit block with PREFLUSH, so that it is never there without them, and with FUA. A checkpoint flushes, writes the pages in
//! place, flushes, and writes the header with FUA; then the journal begins anew. Opening replays the transactions of the journal
//! whose sequence numbers go on from the header's, and makes a checkpoint of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use explode_ramdisk::{Flags, Payload, RamDisk};
use explode_runtime::recover::{Below, Component, Fault};
use explode_runtime::run::{ComponentDef, Mode, OptionDef, Options, UsageError};

use super::record::{Frame, as_changes, decode, encode, frame};
use super::{Kind, StoreComponent};
use crate::engine::{Change, Contents, Durability, EngineError, KeyValue};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "journal-kv",
    about: "a small key-value store with a journal of pages; with a bug, if one is named",
    modes: &[Mode::Mem],
    on: Some("ramdisk"),
    options: &[OptionDef {
        name: "bug",
        about: "none, no-preflush, no-fua, no-wait, stale-commit, torn-header, checkpoint-no-flush, recovery-not-idempotent",
        default: "none",
    }],
    build,
};

/// What is wrong with it.
#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    /// The commit block does not flush what was written before it.
    NoPreflush,
    /// The commit block may stay in the disk's cache.
    NoFua,
    /// In place of PREFLUSH a flush, sent before the writes have completed.
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

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let bug = options.one_of(
        "bug",
        &[
            ("none", Bug::None),
            ("no-preflush", Bug::NoPreflush),
            ("no-fua", Bug::NoFua),
            ("no-wait", Bug::NoWait),
            ("stale-commit", Bug::StaleCommit),
            ("torn-header", Bug::TornHeader),
            ("checkpoint-no-flush", Bug::CheckpointNoFlush),
            ("recovery-not-idempotent", Bug::RecoveryNotIdempotent),
        ],
    )?;
    Ok(StoreComponent::boxed(bug))
}

const BLOCK: usize = 4096;
const SECTORS: u64 = 8;
const SECTOR: usize = 512;
/// Block numbers.
const PAGES: u64 = 2;
const JOURNAL: u64 = 32;
const END: u64 = 96;

type Page = Vec<u8>;

struct Journaled {
    disk: RamDisk,
    bug: Bug,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    contents: Contents,
    /// The pages as they are after the last commit, their number from 0 first.
    pages: BTreeMap<u64, Page>,
    /// Those that are not in place yet.
    moved: BTreeMap<u64, Page>,
    /// Bytes of the contents.
    bytes: u64,
    /// Of the last commit.
    sequence: u64,
    /// Block of the journal where the next transaction goes.
    head: u64,
}

impl Kind for Bug {
    fn create(&self, below: &Below<'_>) -> Result<(), Fault> {
        let state = RefCell::new(State { head: JOURNAL, ..State::default() });
        let store = Journaled { disk: below.disk(0)?, bug: *self, state };
        store.write_header(0, 0);
        Ok(())
    }

    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, Fault> {
        let store = Journaled { disk: below.disk(0)?, bug: *self, state: RefCell::default() };
        store.load()?;
        Ok(Rc::new(store))
    }
}

impl Journaled {
    /// Reads pages and journal; what was in the journal is in place afterwards.
    fn load(&self) -> Result<(), EngineError> {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        (state.sequence, state.bytes) = self.read_header()?;
        state.pages = (0..state.bytes.div_ceil(BLOCK as u64)).map(|at| (at, self.read(PAGES + at))).collect();
        state.head = JOURNAL;
        while let Some((bytes, pages)) = self.read_transaction(state.head, state.sequence + 1) {
            state.head += pages.len() as u64 + 2;
            state.sequence += 1;
            state.bytes = bytes;
            state.pages.extend(pages.iter().cloned());
            state.moved.extend(pages);
        }
        let mut bytes: Vec<u8> = state.pages.values().flatten().copied().collect();
        bytes.truncate(state.bytes as usize);
        let changes = decode(&bytes);
        let changes = changes.ok_or_else(|| EngineError::Corrupt("the pages are damaged".to_owned()))?;
        changes.iter().for_each(|change| change.apply(&mut state.contents));
        if self.bug == Bug::RecoveryNotIdempotent && !state.moved.is_empty() {
            self.write_header(state.sequence, state.bytes);
        }
        drop(guard);
        self.checkpoint()
    }

    /// The transaction at a block of the journal, if it is the one that is expected there: the length of the contents after it,
    /// and its pages.
    fn read_transaction(&self, at: u64, sequence: u64) -> Option<(u64, Vec<(u64, Page)>)> {
        let descriptor = (at < END).then(|| self.read(at))?;
        let descriptor =
            Frame::read(&descriptor).filter(|frame| frame.sound && frame.sequence == sequence)?;
        let mut numbers = descriptor.body.chunks_exact(8);
        let mut number =
            || numbers.next().map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        let bytes = number()?;
        let pages: Vec<(u64, Page)> =
            std::iter::from_fn(number).zip(at + 1..).map(|(page, block)| (page, self.read(block))).collect();
        let commit = self.read(at + 1 + pages.len() as u64);
        let commit = Frame::read(&commit).filter(|frame| frame.sound && frame.body == COMMIT)?;
        (commit.sequence == sequence || self.bug == Bug::StaleCommit).then_some((bytes, pages))
    }

    fn read(&self, block: u64) -> Page {
        let mut page = vec![0; BLOCK];
        self.disk.read(block * SECTORS, &mut page);
        page
    }

    /// How far the pages are, in commits and in bytes.
    fn read_header(&self) -> Result<(u64, u64), EngineError> {
        let damaged = || EngineError::Corrupt("the header is damaged".to_owned());
        let number = |block: &[u8]| {
            let frame = Frame::read(block).filter(|frame| frame.sound).ok_or_else(damaged)?;
            let number = frame.body.try_into().map_err(|_| damaged())?;
            Ok::<_, EngineError>((frame.sequence, u64::from_le_bytes(number)))
        };
        let (sequence, bytes) = number(&self.read(0))?;
        match self.bug {
            Bug::TornHeader => Ok((sequence, number(&self.read(1))?.1)),
            _ => Ok((sequence, bytes)),
        }
    }

    fn write_header(&self, sequence: u64, bytes: u64) {
        let mut header = frame(sequence, &bytes.to_le_bytes());
        header.resize(SECTOR, 0);
        if self.bug == Bug::TornHeader {
            header.resize(BLOCK, 0);
            header = header.repeat(2);
        }
        self.disk.write(0, &header, Flags::FUA);
    }

    /// Writes a descriptor and the pages that it names; with [`Bug::NoWait`] flushes too early.
    fn write_ahead(&self, sequence: u64, head: u64, bytes: u64, pages: &BTreeMap<u64, Page>) {
        let numbers = [bytes].into_iter().chain(pages.keys().copied());
        let mut descriptor = frame(sequence, &numbers.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
        descriptor.resize(BLOCK, 0);
        let blocks = [&descriptor].into_iter().chain(pages.values()).zip(head..);
        let submit = |(page, at): (&Page, u64)| {
            self.disk.submit(at * SECTORS, Payload::Data(page.clone().into()), Flags::NONE)
        };
        let requests: Vec<_> = blocks.map(submit).collect();
        let early = (self.bug == Bug::NoWait).then(|| self.disk.submit_flush());
        requests.into_iter().chain(early).for_each(|request| self.disk.complete(request));
    }
}

const COMMIT: &[u8] = b"commit";

impl KeyValue for Journaled {
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), EngineError> {
        let mut guard = self.state.borrow_mut();
        changes.iter().for_each(|change| change.apply(&mut guard.contents));
        let encoded = encode(&as_changes(&guard.contents));
        let page = |bytes: &[u8]| [bytes, &[0; BLOCK][bytes.len()..]].concat();
        let pages = (0..).zip(encoded.chunks(BLOCK).map(page));
        let changed: BTreeMap<u64, Page> =
            pages.filter(|(number, page)| guard.pages.get(number) != Some(page)).collect();
        let most = (JOURNAL - PAGES).min(END - JOURNAL - 2) as usize;
        if encoded.len().div_ceil(BLOCK) > most {
            return Err(EngineError::Below(nix::errno::Errno::ENOSPC));
        }
        if guard.head + changed.len() as u64 + 2 > END {
            drop(guard);
            self.checkpoint()?;
            guard = self.state.borrow_mut();
        }
        let State { head, sequence, .. } = *guard;
        self.write_ahead(sequence + 1, head, encoded.len() as u64, &changed);
        let flags = Flags {
            fua: durability == Durability::Synced && self.bug != Bug::NoFua,
            preflush: !matches!(self.bug, Bug::NoPreflush | Bug::NoWait),
        };
        let mut sector = frame(sequence + 1, COMMIT);
        sector.resize(SECTOR, 0);
        self.disk.write((head + 1 + changed.len() as u64) * SECTORS, &sector, flags);
        guard.head += changed.len() as u64 + 2;
        guard.sequence += 1;
        guard.bytes = encoded.len() as u64;
        guard.pages.extend(changed.iter().map(|(number, page)| (*number, page.clone())));
        guard.moved.extend(changed);
        Ok(())
    }

    fn checkpoint(&self) -> Result<(), EngineError> {
        let state = &mut *self.state.borrow_mut();
        if state.moved.is_empty() {
            return Ok(());
        }
        self.disk.flush();
        for (number, page) in std::mem::take(&mut state.moved) {
            self.disk.write((PAGES + number) * SECTORS, &page, Flags::NONE);
        }
        if self.bug != Bug::CheckpointNoFlush {
            self.disk.flush();
        }
        self.write_header(state.sequence, state.bytes);
        state.head = JOURNAL;
        Ok(())
    }

    fn contents(&self) -> Result<Contents, EngineError> {
        Ok(self.state.borrow().contents.clone())
    }
}
