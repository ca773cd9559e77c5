//! The disks that a crash can leave in one state of the storage: worlds, visible pieces, disks,
//! combinations (sections 3 to 6).

use std::collections::{BTreeMap, BTreeSet};

use super::machine::{Machine, Piece, PieceId, Place};
use super::{Disk, Token};

impl Machine {
    /// Returns the PREFLUSH writes in flight whose flush may or may not have ended.
    pub fn waiting(&self) -> BTreeSet<u64> {
        self.requests.iter().filter(|(_, request)| request.waits).map(|(id, _)| *id).collect()
    }

    /// Returns the state in the world where the flushes of these writes have ended, and no others.
    pub fn world(&self, ended: &BTreeSet<u64>) -> Machine {
        let mut in_order: Vec<u64> = ended.iter().copied().collect();
        in_order.sort_by_key(|id| self.requests[id].number);
        let mut world = self.clone();
        for id in in_order {
            world.end_flush(id);
        }
        world
    }

    /// Returns every world, as the set of the writes whose flush has ended in it.
    pub fn worlds(&self) -> Vec<BTreeSet<u64>> {
        let mut subsets = vec![BTreeSet::new()];
        for id in self.waiting() {
            let mut with = subsets.clone();
            with.iter_mut().for_each(|subset| {
                subset.insert(id);
            });
            subsets.extend(with);
        }
        subsets
    }

    /// Returns true if a crash in this world can leave the piece on the disk.
    pub fn is_visible(&self, piece: &Piece) -> bool {
        if piece.replaced {
            return false;
        }
        if !piece.carried {
            return !piece.made_with.iter().any(|place| self.locked.contains(place));
        }
        let started = |id: &u64| !self.requests[id].waits;
        piece.acknowledged || piece.failed || piece.in_flight.iter().any(started)
    }

    /// Returns the visible pieces of this world, oldest first.
    pub fn visible(&self) -> impl Iterator<Item = (PieceId, &Piece)> {
        self.pieces
            .iter()
            .map(|(id, piece)| (*id, piece))
            .filter(|(_, piece)| self.is_visible(piece))
    }

    /// Returns the disks of all worlds. The pieces of `without` are never kept.
    pub fn disks(&self, without: &BTreeSet<PieceId>) -> BTreeSet<Disk> {
        let worlds = self.worlds();
        worlds.iter().flat_map(|ended| self.world(ended).disks_of_this_world(without)).collect()
    }

    /// Returns each subset of the visible pieces, applied in order to the durable contents.
    ///
    /// Ranges play no role here: if two versions of one range are kept, the newer one hides the
    /// older.
    pub fn disks_of_this_world(&self, without: &BTreeSet<PieceId>) -> BTreeSet<Disk> {
        let mut disks = BTreeSet::from([self.durable.clone()]);
        for (_, piece) in self.visible().filter(|(id, _)| !without.contains(id)) {
            let kept: Vec<Disk> =
                disks.iter().map(|disk| with_piece(disk, &piece.sectors)).collect();
            disks.extend(kept);
        }
        disks
    }

    /// Returns the number of visible versions of each range, in this world.
    pub fn versions(&self) -> BTreeMap<Vec<Place>, u128> {
        let mut versions = BTreeMap::new();
        for (_, piece) in self.visible() {
            *versions.entry(piece.sectors.keys().copied().collect()).or_default() += 1;
        }
        versions
    }

    /// Returns the product over all ranges of (1 + visible versions), summed over the worlds.
    pub fn combinations(&self) -> u128 {
        let product = |world: Machine| {
            world.versions().values().map(|versions| 1 + versions).product::<u128>()
        };
        self.worlds().iter().map(|ended| product(self.world(ended))).sum()
    }

    /// Returns true if the event between these two states removes or hides a visible version, or
    /// changes D.
    ///
    /// D changes when a piece becomes durable, whatever its bytes. A carried piece is never removed
    /// for another reason. Versions are compared in each world. A world continues as the world in
    /// which the same flushes have ended, except those whose writes are no longer in flight. A
    /// version that the event replaces (`replace_versions`) does not count.
    pub fn loses_something(&self, after: &Machine) -> bool {
        let durable =
            self.pieces.iter().any(|(id, piece)| piece.carried && !after.pieces.contains_key(id));
        durable || self.worlds().iter().any(|ended| self.loses_version(after, ended))
    }

    fn loses_version(&self, after: &Machine, ended: &BTreeSet<u64>) -> bool {
        let before = self.world(ended);
        let after = after.world(&ended.intersection(&after.waiting()).copied().collect());
        let has_all = |now: &Piece, then: &Piece| {
            then.sectors.keys().all(|place| now.sectors.contains_key(place))
        };
        before.visible().any(|(id, then)| match after.pieces.get(&id) {
            None => true,
            Some(now) => !(now.replaced || after.is_visible(now) && has_all(now, then)),
        })
    }
}

fn with_piece(disk: &Disk, sectors: &BTreeMap<Place, Token>) -> Disk {
    let mut disk = disk.clone();
    for ((dev, sector), token) in sectors {
        disk[*dev as usize][*sector as usize] = *token;
    }
    disk
}
