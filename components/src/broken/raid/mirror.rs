//! A mirror: each disk holds every block.
//!
//! A write goes to all disks. Reads take turns. If one disk cannot read a block, it is read from
//! another and written to the first again. A disk that does not answer is left out until recovery
//! has copied [everything](super::members) to it. Recovery copies the first disk's contents to the
//! others wherever the bitmap says that they may differ. Any version that a crash left is correct,
//! but all disks must have the same one.

use std::cell::{Cell, RefCell};

use bytes::Bytes;
use explode_ramdisk::{
    Flags, Payload, RamDisk, RamDiskState, Request, SECTOR_BYTES, SECTORS_PER_BLOCK,
};
use explode_runtime::base::{Mode, OptionDef, Options, UsageError};
use explode_runtime::stack::{Component, ComponentDef, Recovery};
use nix::errno::Errno;

use super::intent::Intent;
use super::members::Members;
use super::{Array, ArrayComponent, Part, RaidBug, blocks_of, each_as_it_can, parts};

/// The name in the registry.
pub const NAME: &str = "mirror";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "two or more disks that hold the same, as one; with a bug, if one is named",
        build,
    )
    .modes([Mode::Mem])
    .options([OptionDef {
        name: "bug",
        about: "none, no-resync, resync-clears-first, intent-not-durable, clears-before-flush, \
                flushes-one-disk, evicts, resync-ignores-errors, stale-wins, acknowledges-first",
        default: "none",
    }])
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let bug = options.one_of(
        "bug",
        &[
            ("none", RaidBug::None),
            ("no-resync", RaidBug::NoResync),
            ("resync-clears-first", RaidBug::ResyncClearsFirst),
            ("intent-not-durable", RaidBug::IntentNotDurable),
            ("clears-before-flush", RaidBug::ClearsBeforeFlush),
            ("flushes-one-disk", RaidBug::FlushesInPart),
            ("evicts", RaidBug::Evicts),
            ("resync-ignores-errors", RaidBug::ResyncIgnoresErrors),
            ("stale-wins", RaidBug::StaleWins),
            ("acknowledges-first", RaidBug::AcknowledgesFirst),
        ],
    )?;
    let open = move |disks: Vec<RamDisk>| Mirror {
        used: disks.iter().map(|_| Cell::new(true)).collect(),
        intent: Intent::read(disks.clone(), blocks_of(&disks) - 1, bug),
        members: Members::read(&disks, bug),
        late: RefCell::default(),
        disks,
        bug,
        turn: Cell::new(0),
    };
    let open = Box::new(open);
    Ok(Box::new(ArrayComponent { least: 2, head: 1, can_lose: 1, open, array: None }))
}

/// Returns the first sector of a row on each disk.
fn row_start(row: u64) -> u64 {
    (row + 1) * SECTORS_PER_BLOCK
}

#[derive(Debug)]
struct Mirror {
    disks: Vec<RamDisk>,
    /// The disks in use: all, except with [`RaidBug::Evicts`].
    used: Vec<Cell<bool>>,
    intent: Intent,
    members: Members,
    /// The requests that were reported as done and are not ([`RaidBug::AcknowledgesFirst`]).
    late: RefCell<Vec<(usize, Request)>>,
    bug: RaidBug,
    /// The disk that the next read begins with.
    turn: Cell<usize>,
}

impl Mirror {
    fn is_used(&self, disk: usize) -> bool {
        self.used[disk].get() && self.members.has(disk)
    }

    fn used(&self) -> impl Iterator<Item = (usize, &RamDisk)> {
        self.disks.iter().enumerate().filter(|(at, _)| self.is_used(*at))
    }

    /// Completes what [`RaidBug::AcknowledgesFirst`] has left.
    fn complete_late(&self) {
        for (at, request) in self.late.take() {
            self.disks[at].complete(request);
        }
    }

    /// Reads from the first disk that can, counted from `from` on. The data is written to the disks
    /// that could not.
    fn read_from(&self, from: usize, sector: u64, buf: &mut [u8]) -> Result<(), Errno> {
        let mut bad = Vec::new();
        for at in (from..).take(self.disks.len()).map(|at| at % self.disks.len()) {
            if !self.is_used(at) {
                continue;
            }
            if self.disks[at].try_read(sector, buf).is_err() {
                bad.push(at);
                continue;
            }
            for at in bad {
                match self.bug {
                    RaidBug::Evicts => self.used[at].set(false),
                    _ => self.disks[at].write(sector, buf, Flags::NONE),
                }
            }
            return Ok(());
        }
        Err(Errno::EIO)
    }

    /// Copies everything to the disks that answer and are no members, and makes them members.
    /// Returns true if there were any. They stay out if a row cannot be read from any member.
    fn copy_to_others(&self) -> bool {
        let answers = |at: &usize| !self.members.has(*at) && self.disks[*at].answers();
        let others: Vec<usize> = (0..self.disks.len()).filter(answers).collect();
        if others.is_empty() {
            return false;
        }
        let mut block = vec![0; SECTORS_PER_BLOCK as usize * SECTOR_BYTES];
        for row in 0..blocks_of(&self.disks) - 1 {
            if self.read_from(0, row_start(row), &mut block).is_err() {
                return true;
            }
            for at in &others {
                self.disks[*at].write(row_start(row), &block, Flags::NONE);
            }
        }
        self.disks.iter().for_each(RamDisk::flush);
        self.members.add_all(&self.disks);
        true
    }

    /// Copies a row from the first readable disk to all members. Returns true if they differed. A
    /// row that no disk can read is lost and stays unchanged.
    fn resync_row(&self, row: u64) -> Result<bool, Errno> {
        let sector = row_start(row);
        let mut block = vec![0; SECTORS_PER_BLOCK as usize * SECTOR_BYTES];
        each_as_it_can(sector, &mut block, |sector, buf| match self.bug {
            RaidBug::ResyncIgnoresErrors => self.disks[0].try_read(sector, buf).or(Ok(())),
            _ => self.read_from(0, sector, buf),
        })?;
        let mut differed = false;
        for (_, disk) in self.used() {
            let mut other = vec![0; block.len()];
            if disk.try_read(sector, &mut other).is_err() || other != block {
                disk.write(sector, &block, Flags::NONE);
                differed = true;
            }
        }
        Ok(differed)
    }
}

impl RamDiskState for Mirror {
    fn read(&self, sector: u64, buf: &mut [u8]) -> Result<(), Errno> {
        parts(sector, buf.len()).try_for_each(|Part { block, first, bytes }| {
            let turn = self.turn.replace((self.turn.get() + 1) % self.disks.len());
            let sector = row_start(block) + first;
            each_as_it_can(sector, &mut buf[bytes], |sector, buf| self.read_from(turn, sector, buf))
        })
    }

    fn write(&self, sector: u64, data: Bytes, flags: Flags) {
        if flags.preflush {
            self.flush();
        }
        parts(sector, data.len()).for_each(|part| self.intent.announce(part.block));
        let flags = Flags { preflush: false, ..flags };
        self.complete_late();
        let submit = |(at, disk): (usize, &RamDisk)| {
            (at, disk.submit(row_start(0) + sector, Payload::Data(data.clone()), flags))
        };
        let mut requests: Vec<_> = self.used().map(submit).collect();
        if self.bug == RaidBug::AcknowledgesFirst {
            self.late.replace(requests.split_off(1.min(requests.len())));
        }
        requests.into_iter().for_each(|(at, request)| self.disks[at].complete(request));
        self.members.remove_silent(&self.disks);
    }

    fn flush(&self) {
        self.complete_late();
        let disks = if self.bug == RaidBug::FlushesInPart { 1 } else { self.disks.len() };
        let settle = || {
            self.used().take(disks).for_each(|(_, disk)| disk.flush());
            Vec::new()
        };
        self.members.remove_silent(&self.disks);
        self.intent.settled(settle, RaidBug::ClearsBeforeFlush);
    }
}

impl Array for Mirror {
    fn sectors(&self) -> u64 {
        (blocks_of(&self.disks) - 1) * SECTORS_PER_BLOCK
    }

    fn resync(&self) -> Recovery {
        let rows = if self.bug == RaidBug::NoResync { Vec::new() } else { self.intent.rows() };
        let mut differed = false;
        let settle = || {
            for row in rows {
                differed |= self.resync_row(row).unwrap_or(false);
            }
            differed |= self.copy_to_others();
            self.disks.iter().for_each(RamDisk::flush);
            Vec::new()
        };
        self.intent.settled(settle, RaidBug::ResyncClearsFirst);
        if differed { Recovery::Repaired } else { Recovery::Clean }
    }
}
