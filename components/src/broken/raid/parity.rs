//! Disks with parity. Each row has one block of parity, the exclusive or of the other blocks. The
//! disks hold it in turns.
//!
//! A block that cannot be read is computed from all others of its row and written again. A write
//! changes its block and the row's parity. A crash can divide the two, which is the write hole.
//! Recovery computes the parity again from the blocks as they are, wherever the bitmap says that it
//! may be stale. If one of the blocks cannot be read then, its contents are lost, and reading it is
//! an error until it is written. A journal prevents that, and with it every write is durable when
//! it returns.

use std::cell::RefCell;
use std::collections::BTreeSet;

use bytes::Bytes;
use explode_ramdisk::{Flags, Payload, RamDisk, RamDiskState, SECTOR_BYTES, SECTORS_PER_BLOCK};
use explode_runtime::base::{Mode, OptionDef, Options, UsageError};
use explode_runtime::stack::{Component, ComponentDef, Recovery};
use nix::errno::Errno;

use super::intent::Intent;
use super::journal::{self, Journal};
use super::{Array, ArrayComponent, Part, RaidBug, blocks_of, each_as_it_can, parts};

/// The name in the registry.
pub const NAME: &str = "parity";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "three or more disks of which any can be had from the others, as one; with a bug, if one \
         is named",
        build,
    )
    .modes([Mode::Mem])
    .options([
        OptionDef {
            name: "writes",
            about: "record of the stripes that a crash can tear: bitmap, journal",
            default: "bitmap",
        },
        OptionDef {
            name: "bug",
            about: "none, no-resync, resync-clears-first, intent-not-durable, \
                    clears-before-flush, flushes-data-only, torn-record",
            default: "none",
        },
    ])
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
            ("flushes-data-only", RaidBug::FlushesInPart),
            ("torn-record", RaidBug::TornRecord),
        ],
    )?;
    let has_journal = options.one_of("writes", &[("bitmap", false), ("journal", true)])?;
    let first = 1 + if has_journal { journal::BLOCKS } else { 0 };
    let open = move |disks: Vec<RamDisk>| {
        let journal = has_journal.then(|| Journal::open(disks.clone(), bug));
        let intent = Intent::read(disks.clone(), blocks_of(&disks) - first, bug);
        let stale = RefCell::new(intent.rows().into_iter().collect());
        let written = RefCell::new(vec![false; disks.len()]);
        Parity { disks, first, intent, journal, bug, stale, written }
    };
    Ok(Box::new(ArrayComponent {
        least: 3,
        head: first,
        can_lose: 0,
        open: Box::new(open),
        array: None,
    }))
}

#[derive(Debug)]
struct Parity {
    disks: Vec<RamDisk>,
    /// The block of each disk with row 0.
    first: u64,
    intent: Intent,
    journal: Option<Journal>,
    bug: RaidBug,
    /// The rows whose parity may be wrong.
    stale: RefCell<BTreeSet<u64>>,
    /// True for each disk that a data block was written to since the last flush.
    written: RefCell<Vec<bool>>,
}

/// The place of a block of the array.
#[derive(Clone, Copy)]
struct Place {
    row: u64,
    /// The disk of the block.
    data: usize,
    /// The disk of the row's parity.
    parity: usize,
}

impl Parity {
    fn place(&self, block: u64) -> Place {
        let disks = self.disks.len() as u64;
        let (row, at) = (block / (disks - 1), block % (disks - 1));
        let parity = self.parity_of(row);
        Place { row, data: (parity + 1 + at as usize) % self.disks.len(), parity }
    }

    /// Returns the first sector of a row on each disk.
    fn row_start(&self, row: u64) -> u64 {
        (self.first + row) * SECTORS_PER_BLOCK
    }

    fn parity_of(&self, row: u64) -> usize {
        (row % self.disks.len() as u64) as usize
    }

    /// Computes the exclusive or of all disks except these at a sector.
    fn sum_without(&self, without: &[usize], sector: u64, sum: &mut [u8]) -> Result<(), Errno> {
        let others = (0..self.disks.len()).filter(|at| !without.contains(at));
        self.sum_of(others, sector, sum)
    }

    fn sum_of(
        &self,
        mut disks: impl Iterator<Item = usize>,
        sector: u64,
        sum: &mut [u8],
    ) -> Result<(), Errno> {
        sum.fill(0);
        let mut one = vec![0; sum.len()];
        disks.try_for_each(|at| {
            self.disks[at].try_read(sector, &mut one)?;
            add(sum, &one);
            Ok(())
        })
    }

    /// Returns the parity of a row once `new` is in one of its blocks. It is computed from the
    /// other blocks, or from the old block and the old parity. `None` if neither can be read.
    fn parity_with(&self, place: Place, sector: u64, new: &[u8]) -> Option<Vec<u8>> {
        let Place { row, data, parity } = place;
        let mut sum = vec![0; new.len()];
        let others = each_as_it_can(sector, &mut sum, |sector, sum| {
            let others = self.sum_without(&[data, parity], sector, sum);
            if self.stale.borrow().contains(&row) {
                return others;
            }
            others.or_else(|_| self.sum_of([data, parity].into_iter(), sector, sum))
        });
        add(&mut sum, new);
        others.ok().map(|()| sum)
    }

    /// Records in the journal or the bitmap that a row is about to be written. Returns the flags of
    /// the writes.
    fn announce(&self, row: u64, sector: u64, writes: &[journal::Write], flags: Flags) -> Flags {
        let Some(journal) = &self.journal else {
            self.intent.announce(row);
            return flags;
        };
        if self.stale.borrow().contains(&row) {
            self.intent.announce(row);
        }
        journal.record(sector, writes);
        Flags::FUA
    }

    /// Reads a part of a block. If the block cannot be read, it is computed from the others of its
    /// row and written again.
    fn read_part(&self, place: Place, sector: u64, buf: &mut [u8]) -> Result<(), Errno> {
        self.disks[place.data].try_read(sector, buf).or_else(|errno| {
            if self.stale.borrow().contains(&place.row) {
                return Err(errno);
            }
            self.sum_without(&[place.data], sector, buf)?;
            self.disks[place.data].write(sector, buf, Flags::NONE);
            Ok(())
        })
    }

    /// Computes the parity of a row again. Returns true if it was different. If a block cannot be
    /// read, the row stays unchanged.
    fn resync_row(&self, row: u64) -> Result<bool, Errno> {
        let (parity, sector) = (self.parity_of(row), self.row_start(row));
        let mut right = vec![0; SECTORS_PER_BLOCK as usize * SECTOR_BYTES];
        self.sum_without(&[parity], sector, &mut right)?;
        let mut found = vec![0; right.len()];
        let differed = self.disks[parity].try_read(sector, &mut found).is_err() || found != right;
        if differed {
            self.disks[parity].write(sector, &right, Flags::NONE);
        }
        Ok(differed)
    }
}

/// Stores the exclusive or of whole sectors in `sum`.
fn add(sum: &mut [u8], other: &[u8]) {
    for (sum, other) in sum.as_chunks_mut().0.iter_mut().zip(other.as_chunks().0) {
        *sum = (u64::from_ne_bytes(*sum) ^ u64::from_ne_bytes(*other)).to_ne_bytes();
    }
}

impl RamDiskState for Parity {
    fn read(&self, sector: u64, buf: &mut [u8]) -> Result<(), Errno> {
        parts(sector, buf.len()).try_for_each(|Part { block, first, bytes }| {
            let place = self.place(block);
            let sector = self.row_start(place.row) + first;
            each_as_it_can(sector, &mut buf[bytes], |sector, buf| {
                self.read_part(place, sector, buf)
            })
        })
    }

    fn write(&self, sector: u64, data: Bytes, flags: Flags) {
        if flags.preflush {
            self.flush();
        }
        let flags = Flags { preflush: false, ..flags };
        for Part { block, first, bytes } in parts(sector, data.len()) {
            let place = self.place(block);
            let sector = self.row_start(place.row) + first;
            let new = data.slice(bytes);
            let parity = self.parity_with(place, sector, &new);
            match parity {
                Some(_) if new.len() as u64 == SECTORS_PER_BLOCK * SECTOR_BYTES as u64 => {
                    self.stale.borrow_mut().remove(&place.row)
                }
                Some(_) => false,
                None => self.stale.borrow_mut().insert(place.row),
            };
            self.written.borrow_mut()[place.data] = true;
            let parity = parity.map(|parity| (place.parity, Bytes::from(parity)));
            let writes: Vec<_> = [(place.data, new)].into_iter().chain(parity).collect();
            let flags = self.announce(place.row, sector, &writes, flags);
            let submit = |(at, bytes): journal::Write| {
                (at, self.disks[at].submit(sector, Payload::Data(bytes), flags))
            };
            let requests: Vec<_> = writes.into_iter().map(submit).collect();
            requests.into_iter().for_each(|(at, request)| self.disks[at].complete(request));
        }
    }

    fn flush(&self) {
        let written = self.written.replace(vec![false; self.disks.len()]);
        let flushed = |at: usize| self.bug != RaidBug::FlushesInPart || written[at];
        let settle = || {
            let disks = self.disks.iter().enumerate().filter(|(at, _)| flushed(*at));
            disks.for_each(|(_, disk)| disk.flush());
            self.stale.borrow().iter().copied().collect()
        };
        self.intent.settled(settle, RaidBug::ClearsBeforeFlush);
    }
}

impl Array for Parity {
    fn sectors(&self) -> u64 {
        (blocks_of(&self.disks) - self.first) * (self.disks.len() as u64 - 1) * SECTORS_PER_BLOCK
    }

    fn resync(&self) -> Recovery {
        let resyncs = self.bug != RaidBug::NoResync;
        let mut differed = resyncs && self.journal.as_ref().is_some_and(Journal::redo);
        let rows = if resyncs { self.intent.rows() } else { Vec::new() };
        let settle = || {
            let resync =
                |row: &u64| self.resync_row(*row).inspect(|other| differed |= other).is_err();
            let stale = rows.into_iter().filter(resync).collect();
            self.disks.iter().for_each(RamDisk::flush);
            stale
        };
        self.intent.settled(settle, RaidBug::ResyncClearsFirst);
        if differed { Recovery::Repaired } else { Recovery::Clean }
    }
}
