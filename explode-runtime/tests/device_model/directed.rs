//! The directed part of a sample: the disks of the three families (section 6).

use std::collections::{BTreeMap, BTreeSet};

use super::machine::{Machine, PieceId, Place};
use super::{Disk, Token};

/// A piece that a disk keeps: its sectors and their contents.
type Kept = BTreeMap<Place, Token>;

impl Machine {
    /// Returns the disk that keeps nothing and has ended no flush, and the disk that keeps the
    /// newest of everything and has ended all flushes.
    pub fn ends(&self) -> [Disk; 2] {
        let last = self.world(&self.waiting());
        [self.durable.clone(), with(&last.durable, last.newest(PieceId::MAX).into_values())]
    }

    /// Returns the disks of the three families.
    pub fn directed(&self) -> BTreeSet<Disk> {
        let mut disks = self.prefixes();
        let last = self.world(&self.waiting());
        for lost in last.newest(PieceId::MAX).into_keys() {
            let mut others = last.newest(PieceId::MAX);
            others.remove(&lost);
            disks.insert(with(&last.durable, others.into_values()));
        }
        let mut met = BTreeSet::new();
        for world in self.worlds_in_order() {
            for (range, piece) in world.newest(PieceId::MAX) {
                if met.insert(range) {
                    disks.insert(with(&world.durable, [piece]));
                }
            }
        }
        disks
    }

    /// Returns, for each visible piece, the disk with the newest versions up to that piece. In its
    /// world the flushes have ended that were submitted up to the latest request of those pieces.
    fn prefixes(&self) -> BTreeSet<Disk> {
        let worlds = self.worlds_in_order();
        let pieces = worlds.iter().flat_map(|world| world.visible());
        let pieces: BTreeMap<PieceId, Option<usize>> =
            pieces.map(|(id, piece)| (id, piece.first_request)).collect();
        let prefix = |last: PieceId| {
            let submitted = pieces.range(..=last).filter_map(|(_, first)| *first).max();
            let before = |id: &u64| submitted.is_some_and(|last| self.requests[id].number <= last);
            let world = self.world(&self.waiting().into_iter().filter(before).collect());
            with(&world.durable, world.newest(last).into_values())
        };
        pieces.keys().map(|last| prefix(*last)).collect()
    }

    /// Returns the newest visible version of each range, among the pieces up to `last`.
    fn newest(&self, last: PieceId) -> BTreeMap<Vec<Place>, (PieceId, Kept)> {
        let pieces = self.visible().filter(|(id, _)| *id <= last);
        let with_range = pieces.map(|(id, piece)| {
            (piece.sectors.keys().copied().collect(), (id, piece.sectors.clone()))
        });
        with_range.collect()
    }

    /// Returns the worlds in order. The later a flush was submitted, the later are the worlds in
    /// which it has ended.
    fn worlds_in_order(&self) -> Vec<Machine> {
        let mut waiting: Vec<u64> = self.waiting().into_iter().collect();
        waiting.sort_by_key(|id| self.requests[id].number);
        let mut worlds = vec![BTreeSet::new()];
        for id in waiting {
            let ended: Vec<BTreeSet<u64>> =
                worlds.iter().map(|world| world.iter().copied().chain([id]).collect()).collect();
            worlds.extend(ended);
        }
        worlds.iter().map(|ended| self.world(ended)).collect()
    }
}

/// Returns the durable contents with these pieces, the older ones applied first.
fn with(durable: &Disk, pieces: impl IntoIterator<Item = (PieceId, Kept)>) -> Disk {
    let pieces: BTreeMap<PieceId, Kept> = pieces.into_iter().collect();
    let mut disk = durable.clone();
    for ((dev, sector), token) in pieces.into_values().flatten() {
        disk[dev as usize][sector as usize] = token;
    }
    disk
}
