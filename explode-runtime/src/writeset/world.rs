//! What a write set allows at this instant, world by world.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use explode_ramdisk::{Block, Identity, Image};
use rangemap::RangeSet;

use super::piece::{Piece, PieceBytes};
use super::request::InFlight;
use super::write_set::WriteSet;

/// One world: a set of writes with PREFLUSH whose flush has ended, the others' has not.
#[derive(Clone, Debug)]
pub struct PreflushWorld {
    /// The durable contents D.
    pub durable: Image,
    /// The ranges with at least one visible version, by device and first sector.
    pub slots: Vec<VersionedRange>,
    /// The instant from which on this world has been possible.
    pub since: u64,
}

/// One range of a device with its visible versions. A crash leaves none of them in it, or one.
#[derive(Clone, Debug)]
pub struct VersionedRange {
    /// The device.
    pub dev: u32,
    /// Its sectors.
    pub sectors: RangeSet<u64>,
    /// Its visible versions, oldest first.
    pub versions: Vec<VisibleVersion>,
}

/// A visible version of a range.
#[derive(Clone, Debug)]
pub struct VisibleVersion {
    /// 1 is the oldest pending piece of the range, visible or not.
    pub number: u32,
    /// The order in which pieces reach the disk.
    pub serial: u64,
    /// The instant from which on it has been visible.
    pub since: u64,
    /// The instant of the first request that carried it, if there was one.
    pub submitted: Option<u64>,
    piece: Rc<Piece>,
}

impl VisibleVersion {
    /// What it writes to some of its sectors.
    pub fn written(&self, sectors: &Range<u64>) -> PieceBytes<'_> {
        self.piece.written(sectors)
    }

    /// Does it write zeroes?
    pub fn is_zeroes(&self) -> bool {
        self.piece.is_zeroes()
    }

    /// The number and the bytes of the block that it is, if it is just one.
    pub fn block(&self) -> Option<(u64, &Block)> {
        self.piece.block()
    }

    /// The share of one of its sectors in the identity of a disk.
    pub fn identity(&self, sector: u64) -> Identity {
        self.piece.identity(sector)
    }
}

impl VersionedRange {
    /// The first sector.
    pub fn first_sector(&self) -> u64 {
        self.sectors.first().map_or(0, |range| range.start)
    }
}

impl WriteSet {
    /// The instants at which the writes with PREFLUSH were submitted whose flush may have ended or
    /// not, oldest first.
    pub fn unstarted(&self) -> Vec<u64> {
        self.waiting().into_iter().map(|(submitted, _)| submitted).collect()
    }

    /// Those writes: instant of the submit and id, oldest first.
    fn waiting(&self) -> Vec<(u64, u64)> {
        let waiting = self.requests.iter().filter(|(_, request)| !request.started);
        let mut waiting: Vec<(u64, u64)> =
            waiting.map(|(id, request)| (request.submitted, *id)).collect();
        waiting.sort_unstable();
        waiting
    }

    /// The worlds of this instant: world i is the one in which the flushes of the
    /// [`unstarted`](WriteSet::unstarted) writes in the bits of i have ended. In the first none has
    /// ended, in the last all have.
    pub fn worlds(&self) -> Vec<PreflushWorld> {
        let waiting = self.waiting();
        let subsets = 0..1u32 << waiting.len();
        let worlds = subsets.map(|subset| {
            let ended = waiting.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0);
            self.after_flushes(ended.map(|(_, (_, id))| *id))
        });
        worlds.collect()
    }

    /// The world in which the flushes of these requests, in the order of their submits, have ended.
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
        PreflushWorld { durable: set.durable.clone(), slots: set.slots(), since }
    }

    fn slots(&self) -> Vec<VersionedRange> {
        let mut slots = Vec::new();
        for (dev, pending) in &self.devices {
            let mut by_sectors: BTreeMap<&RangeSet<u64>, (u32, Vec<VisibleVersion>)> =
                BTreeMap::new();
            for (serial, piece) in &pending.pieces {
                let (number, versions) = by_sectors.entry(&piece.sectors).or_default();
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
            slots.extend(by_sectors.into_iter().map(|(sectors, (_, versions))| VersionedRange {
                dev: *dev,
                sectors: sectors.clone(),
                versions,
            }));
        }
        slots
    }
}
