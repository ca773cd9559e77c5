//! A key-value store with a write-ahead log.
//!
//! `/table` is one frame. It holds the contents up to some commit, and the generation g of the log
//! that continues from there. `/log.g` has a frame for each later commit. A commit appends to the
//! log and syncs it. A checkpoint writes `/table.new` and an empty log of the next generation,
//! syncs the table, renames it over the old one, syncs the folder, and only then removes the old
//! log. Opening replays the frames of the log up to the first that is damaged or out of sequence.
//! The bytes from there on belong to a commit that did not end, and a checkpoint discards them.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use explode_ramdisk::BLOCK_BYTES;
use explode_ramdisk::files::{Fd, Files, OpenFlags};
use explode_runtime::base::{Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef};
use nix::errno::Errno;

use super::{StoreComponent, StoreKind};
use crate::broken::record::{Frame, HEAD, as_changes, decode, encode, frame, frame_without};
use crate::engine::{Change, Durability, EngineError, KeyValue, StoreContents};

/// The name in the registry.
pub const NAME: &str = "wal-kv";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "a small key-value store with a write-ahead log; with a bug, if one is named",
        build,
    )
    .modes([Mode::Mem])
    .on("simfiles")
    .options([OptionDef {
        name: "bug",
        about: "none, no-log-sync, no-checksum, no-table-sync, no-dir-sync, early-unlink, \
                table-in-place, log-reused, \
                recovery-not-idempotent, checksum-gap",
        default: "none",
    }])
}

/// The bug of a write-ahead log.
#[derive(Clone, Copy, PartialEq)]
enum WalBug {
    None,
    /// A commit does not sync the log.
    NoLogSync,
    /// A frame of the log counts if it is complete, whatever its checksum.
    NoChecksum,
    /// A new table is renamed before it is synced.
    NoTableSync,
    /// The folder is not synced after the rename.
    NoDirSync,
    /// The old log is removed before the folder is synced.
    EarlyUnlink,
    /// A new table is written over the old one.
    TableInPlace,
    /// The log is truncated after a checkpoint and used again. Replay does not distinguish frames
    /// from before the checkpoint from later ones.
    LogReused,
    /// Recovery empties the log before it writes the table with the log's contents.
    RecoveryNotIdempotent,
    /// The checksum of a frame omits its tenth block.
    ChecksumGap,
}

/// The range of a frame's tenth block within the body.
const TENTH_BLOCK: Range<usize> = 9 * BLOCK_BYTES - HEAD..10 * BLOCK_BYTES - HEAD;

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let bug = options.one_of(
        "bug",
        &[
            ("none", WalBug::None),
            ("no-log-sync", WalBug::NoLogSync),
            ("no-checksum", WalBug::NoChecksum),
            ("no-table-sync", WalBug::NoTableSync),
            ("no-dir-sync", WalBug::NoDirSync),
            ("early-unlink", WalBug::EarlyUnlink),
            ("table-in-place", WalBug::TableInPlace),
            ("log-reused", WalBug::LogReused),
            ("recovery-not-idempotent", WalBug::RecoveryNotIdempotent),
            ("checksum-gap", WalBug::ChecksumGap),
        ],
    )?;
    Ok(StoreComponent::boxed(bug))
}

impl StoreKind for WalBug {
    fn create(&self, below: &Below<'_>) -> Result<(), StepError> {
        let wal = Wal { files: below.files()?, bug: *self, state: RefCell::default() };
        wal.state.borrow_mut().log = wal.open_log(0)?;
        Ok(wal.checkpoint()?)
    }

    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, StepError> {
        Ok(Rc::new(Wal::open(below.files()?, *self)?))
    }
}

const TABLE: &str = "/table";
const NEW_TABLE: &str = "/table.new";

struct Wal {
    files: Rc<dyn Files>,
    bug: WalBug,
    state: RefCell<WalState>,
}

struct WalState {
    contents: StoreContents,
    /// The sequence number of the last commit.
    sequence: u64,
    generation: u64,
    log: Fd,
    /// The offset of the next frame, in bytes.
    end: u64,
}

impl Default for WalState {
    fn default() -> WalState {
        WalState { contents: StoreContents::new(), sequence: 0, generation: 0, log: Fd(0), end: 0 }
    }
}

fn log_path(generation: u64) -> String {
    format!("/log.{generation}")
}

impl Wal {
    fn open(files: Rc<dyn Files>, bug: WalBug) -> Result<Wal, EngineError> {
        let wal = Wal { files, bug, state: RefCell::default() };
        let torn = wal.load()?;
        if torn {
            if bug == WalBug::RecoveryNotIdempotent {
                let log = wal.state.borrow().log;
                wal.files.ftruncate(log, 0)?;
                wal.files.fsync(log)?;
            }
            wal.checkpoint()?;
        }
        Ok(wal)
    }

    /// Reads the table and replays the log. Returns true if bytes that are not a commit follow in
    /// the log.
    fn load(&self) -> Result<bool, EngineError> {
        let mut state = self.state.borrow_mut();
        let table = self.files.read_file(TABLE).map_err(|errno| match errno {
            Errno::ENOENT => EngineError::Corrupt("there is no table".to_owned()),
            errno => EngineError::Below(errno),
        })?;
        let damaged = || EngineError::Corrupt("the table is damaged".to_owned());
        let frame = Frame::read(&table).filter(|frame| frame.sound).ok_or_else(damaged)?;
        let (generation, body) = frame.body.split_at_checked(8).ok_or_else(damaged)?;
        state.generation = u64::from_le_bytes(generation.try_into().expect("8 bytes"));
        state.sequence = frame.sequence;
        for change in decode(body).ok_or_else(damaged)? {
            change.apply(&mut state.contents);
        }
        state.log = self.open_log(state.generation)?;
        let log = self.files.read_file(&log_path(state.generation))?;
        let mut rest = &log[..];
        while let Some(frame) = Frame::read(rest) {
            let sound = match self.bug {
                WalBug::NoChecksum => true,
                WalBug::ChecksumGap => frame.sound_without(TENTH_BLOCK),
                _ => frame.sound,
            };
            let in_order = frame.sequence == state.sequence + 1 || self.bug == WalBug::LogReused;
            let Some(changes) = decode(frame.body).filter(|_| sound && in_order) else { break };
            changes.iter().for_each(|change| change.apply(&mut state.contents));
            state.sequence = frame.sequence;
            rest = &rest[frame.bytes()..];
        }
        state.end = (log.len() - rest.len()) as u64;
        Ok(!rest.is_empty())
    }

    /// Opens the log of a generation. If it is new, the folder is synced, which makes its name
    /// durable.
    fn open_log(&self, generation: u64) -> Result<Fd, EngineError> {
        let path = log_path(generation);
        match self.files.open(&path, OpenFlags::EXISTING) {
            Err(Errno::ENOENT) => {
                let log = self.files.open(&path, OpenFlags::CREATE)?;
                self.files.sync_dir("/")?;
                Ok(log)
            }
            other => Ok(other?),
        }
    }

    /// Replaces a whole file.
    fn write(&self, path: &str, bytes: &[u8], sync: bool) -> Result<(), EngineError> {
        // After a crash two names can lead to one file. Truncating the file at this path would
        // change the other name's contents, so the name is unlinked first.
        if path == NEW_TABLE && self.files.stat(path).is_ok() {
            self.files.unlink(path)?;
        }
        let fd = self.files.open(path, OpenFlags { truncate: true, ..OpenFlags::CREATE })?;
        self.files.pwrite(fd, 0, bytes)?;
        if sync {
            self.files.fsync(fd)?;
        }
        Ok(self.files.close(fd)?)
    }
}

impl KeyValue for Wal {
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), EngineError> {
        let state = &mut *self.state.borrow_mut();
        let gap = if self.bug == WalBug::ChecksumGap { TENTH_BLOCK } else { 0..0 };
        let bytes = frame_without(state.sequence + 1, &encode(changes), gap);
        self.files.pwrite(state.log, state.end, &bytes)?;
        if durability == Durability::Synced && self.bug != WalBug::NoLogSync {
            self.files.fsync(state.log)?;
        }
        changes.iter().for_each(|change| change.apply(&mut state.contents));
        state.sequence += 1;
        state.end += bytes.len() as u64;
        Ok(())
    }

    fn checkpoint(&self) -> Result<(), EngineError> {
        let state = &mut *self.state.borrow_mut();
        let old = log_path(state.generation);
        let generation =
            if self.bug == WalBug::LogReused { state.generation } else { state.generation + 1 };
        let body = [&generation.to_le_bytes()[..], &encode(&as_changes(&state.contents))].concat();
        let table = frame(state.sequence, &body);
        if self.bug == WalBug::TableInPlace {
            self.write(TABLE, &table, true)?;
        } else {
            self.write(NEW_TABLE, &table, self.bug != WalBug::NoTableSync)?;
        }
        let mut log = state.log;
        if generation != state.generation {
            log = self
                .files
                .open(&log_path(generation), OpenFlags { truncate: true, ..OpenFlags::CREATE })?;
        }
        if self.bug != WalBug::TableInPlace {
            self.files.rename(NEW_TABLE, TABLE)?;
        }
        let unlink =
            || if generation == state.generation { Ok(()) } else { self.files.unlink(&old) };
        if self.bug == WalBug::EarlyUnlink {
            unlink()?;
        }
        if self.bug != WalBug::NoDirSync {
            self.files.sync_dir("/")?;
        }
        if self.bug != WalBug::EarlyUnlink {
            unlink()?;
        }
        if log == state.log {
            self.files.ftruncate(log, 0)?;
        } else {
            self.files.close(state.log)?;
        }
        (state.log, state.generation, state.end) = (log, generation, 0);
        Ok(())
    }

    fn contents(&self) -> Result<StoreContents, EngineError> {
        Ok(self.state.borrow().contents.clone())
    }
}
