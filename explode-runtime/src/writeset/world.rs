//! The disks that a write set allows at this instant, world by world.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use explode_ramdisk::{Block, Identity, Image};
use rangemap::RangeSet;

use super::piece::{Piece, PieceBytes};
use super::request::InFlight;
use super::write_set::WriteSet;

/// One world: a set of writes with PREFLUSH whose flush has ended. The flushes of all others have
/// not.
#[derive(Clone, Debug)]
pub struct PreflushWorld {
    /// The durable contents D in this world.
    pub durable: Image,
    /// The ranges with at least one visible version, by device and first sector.
    pub ranges: Vec<VersionedRange>,
    /// The first instant at which this world is possible.
    pub since: u64,
}

/// A range of a device with its visible versions. A crash leaves one of them in it, or the contents
/// of D.
#[derive(Clone, Debug)]
pub struct VersionedRange {
    /// The device of the range.
    pub dev: u32,
    /// The sectors of the range.
    pub sectors: Rc<RangeSet<u64>>,
    /// The visible versions of the range, oldest first.
    pub versions: Vec<VisibleVersion>,
}

/// A visible version of a range.
#[derive(Clone, Debug)]
pub struct VisibleVersion {
    /// The number of the version. 1 is the oldest pending piece of the range, visible or not.
    pub number: u32,
    /// The serial number of the piece. Pieces reach the disk in this order.
    pub serial: u64,
    /// The first instant at which the version is visible.
    pub since: u64,
    /// The instant of the first request that carried the version. `None` without one.
    pub submitted: Option<u64>,
    piece: Rc<Piece>,
}

impl VisibleVersion {
    /// Returns the bytes that the version writes to some of its sectors.
    pub fn written(&self, sectors: &Range<u64>) -> PieceBytes<'_> {
        self.piece.written(sectors)
    }

    /// Returns true if the version writes zeroes.
    pub fn is_zeroes(&self) -> bool {
        self.piece.is_zeroes()
    }

    /// Returns the number and the bytes of the block, if the version is exactly one.
    pub fn block(&self) -> Option<(u64, &Block)> {
        self.piece.block()
    }

    /// Returns the share of one of its sectors in the identity of a disk.
    pub fn identity(&self, sector: u64) -> Identity {
        self.piece.identity(sector)
    }
}

impl VersionedRange {
    /// Returns the first sector of the range.
    pub fn first_sector(&self) -> u64 {
        self.sectors.first().map_or(0, |part| part.start)
    }
}

impl WriteSet {
    /// Returns the instants at which the writes with PREFLUSH were submitted whose flush may have
    /// ended or not, oldest first.
    pub fn unstarted(&self) -> Vec<u64> {
        self.waiting().into_iter().map(|(submitted, _)| submitted).collect()
    }

    /// Returns the writes of [`unstarted`](WriteSet::unstarted): the instant of the submit and the
    /// id, oldest first.
    fn waiting(&self) -> Vec<(u64, u64)> {
        let waiting = self.requests.iter().filter(|(_, request)| !request.started);
        let mut waiting: Vec<(u64, u64)> =
            waiting.map(|(id, request)| (request.submitted, *id)).collect();
        waiting.sort_unstable();
        waiting
    }

    /// Returns the worlds of this instant. In world i the flushes of those
    /// [`unstarted`](WriteSet::unstarted) writes have ended that are bits of i. In the first world
    /// none has ended, in the last all have.
    pub fn worlds(&self) -> Vec<PreflushWorld> {
        let waiting = self.waiting();
        let subsets = 0..1u32 << waiting.len();
        let worlds = subsets.map(|subset| {
            let ended = waiting.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0);
            self.after_flushes(ended.map(|(_, (_, id))| *id))
        });
        worlds.collect()
    }

    /// Returns the world in which the flushes of these requests have ended. They are in the order
    /// of their submits.
    fn after_flushes(&self, ended: impl Iterator<Item = u64>) -> PreflushWorld {
        let mut set = Cow::Borrowed(self);
        let mut since = 0;
        for id in ended {
            let set = set.to_mut();
            let request = set.requests[&id].clone();
            since = request.submitted;
            set.show(request.dev, &request.pieces, since);
            set.make_durable(request.dev, &request.flushes);
            set.requests.insert(id, InFlight { started: true, flushes: Vec::new(), ..request });
        }
        PreflushWorld { durable: set.durable.clone(), ranges: set.ranges(), since }
    }

    fn ranges(&self) -> Vec<VersionedRange> {
        let mut ranges = Vec::new();
        for (dev, pending) in &self.devices {
            // Most ranges differ in their first part, so the others are seldom compared.
            let mut by_sectors: BTreeMap<_, (u32, Vec<VisibleVersion>)> = BTreeMap::new();
            for (serial, piece) in &pending.pieces {
                let first = piece.sectors.first().map(|part| (part.start, part.end));
                let (number, versions) = by_sectors.entry((first, &piece.sectors)).or_default();
                *number += 1;
                if self.visible(pending, piece) {
                    versions.push(VisibleVersion {
                        number: *number,
                        serial: *serial,
                        since: piece.since,
                        submitted: piece.submitted,
                        piece: Rc::clone(piece),
                    });
                }
            }
            by_sectors.retain(|_, (_, versions)| !versions.is_empty());
            ranges.extend(by_sectors.into_iter().map(|((_, sectors), (_, versions))| {
                VersionedRange { dev: *dev, sectors: Rc::clone(sectors), versions }
            }));
        }
        ranges
    }
}
