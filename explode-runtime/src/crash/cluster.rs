//! Slots that overlap, and what a crash can leave of them together.
//!
//! Slots that share no sector change an image independently of each other, so each set of slots
//! that hang together by shared sectors, a cluster, can be looked at alone: one outcome is one
//! choice of "none, or which version" per slot of it.

use std::collections::BTreeMap;
use std::ops::{Add as _, Range};

use explode_ramdisk::{Disk, Identity, Image};
use num_bigint::BigUint;

use super::named::product;
use super::piece::{KeptPiece, PieceId};
use crate::writeset::{PieceBytes, VersionedRange, VisibleVersion};

/// The slots of one device that hang together by shared sectors; one slot alone is the usual case.
#[derive(Debug)]
pub(super) struct Cluster {
    dev: u32,
    slots: Vec<VersionedRange>,
    /// What each sector adds to the identity of D now, in order; those that add nothing, since they
    /// hold zeroes, are left out.
    durable: Vec<(u64, Identity)>,
}

/// What one choice for a cluster does to an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterEffect {
    /// The difference to the disk's identity.
    pub on_disk: Identity,
    /// The difference to the image's identity.
    pub identity: Identity,
    /// The instant from which on all that it keeps has been visible.
    pub since: u64,
}

/// The sum of choices for several clusters, which share no sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct CombinedEffect {
    /// The image's identity.
    pub identity: Identity,
    /// The instant from which on all that is kept has been visible.
    pub since: u64,
}

/// Which version of each slot is kept: 0 for none, 1 for the oldest visible one.
pub(super) type VersionVector = Vec<usize>;

/// One choice for a cluster, and what comes of it.
pub(super) type ClusterOption = (VersionVector, ClusterEffect);

impl CombinedEffect {
    /// With one more.
    pub fn and(self, other: &ClusterEffect) -> CombinedEffect {
        CombinedEffect {
            identity: self.identity + other.identity,
            since: self.since.max(other.since),
        }
    }
}

impl Cluster {
    /// Groups slots, which are in order of devices and first sectors, into clusters in the same
    /// order. Slots whose spans overlap come together even where only a hole of one does: that
    /// costs time, and changes nothing.
    pub fn group(slots: Vec<VersionedRange>, durable: &Image) -> Vec<Cluster> {
        let mut groups: Vec<Vec<VersionedRange>> = Vec::new();
        let mut end = 0;
        for slot in slots {
            let span_end = slot.sectors.last().map_or(0, |range| range.end);
            match groups.last_mut() {
                Some(group) if group[0].dev == slot.dev && slot.first_sector() < end => {
                    end = end.max(span_end);
                    group.push(slot);
                }
                _ => {
                    end = span_end;
                    groups.push(vec![slot]);
                }
            }
        }
        groups.into_iter().map(|slots| Cluster::new(slots, durable)).collect()
    }

    fn new(slots: Vec<VersionedRange>, durable: &Image) -> Cluster {
        let dev = slots[0].dev;
        let empty = Disk::new();
        let disk = durable.disk(dev).unwrap_or(&empty);
        let ranges = slots.iter().flat_map(|slot| slot.sectors.iter());
        let mut durable: Vec<_> = ranges.flat_map(|range| disk.shares(range.clone())).collect();
        if slots.len() > 1 {
            durable.sort_unstable_by_key(|(sector, _)| *sector);
            durable.dedup_by_key(|(sector, _)| *sector);
        }
        Cluster { dev, slots, durable }
    }

    /// How many outcomes it has.
    pub fn count(&self) -> BigUint {
        self.slots.iter().map(|slot| BigUint::from(slot.versions.len() + 1)).product()
    }

    /// All outcomes, in the order of their numbers; for counts that fit into memory.
    pub fn outcomes(&self) -> Vec<ClusterOption> {
        let mut digits = vec![0; self.slots.len()];
        let mut outcomes = Vec::new();
        loop {
            outcomes.push((digits.clone(), self.outcome(&digits)));
            let more = |k: &usize| digits[*k] < self.slots[*k].versions.len();
            let Some(turning) = (0..digits.len()).rev().find(more) else { return outcomes };
            digits[turning] += 1;
            digits[turning + 1..].fill(0);
        }
    }

    /// The digits of outcome `index`; the last slot's change fastest.
    pub fn digits(&self, mut index: BigUint) -> VersionVector {
        let mut digits: VersionVector = Vec::with_capacity(self.slots.len());
        for slot in self.slots.iter().rev() {
            let base = BigUint::from(slot.versions.len() + 1);
            let digit = &index % &base;
            index /= base;
            digits.push(usize::try_from(digit).expect("a digit is smaller than its base"));
        }
        digits.reverse();
        digits
    }

    /// Its slots.
    pub fn slots(&self) -> impl Iterator<Item = &VersionedRange> {
        self.slots.iter()
    }

    /// The choices that may keep those of these pieces that are here: one, unless slots that begin
    /// at the same sector make their names ambiguous.
    pub fn named(&self, names: &[PieceId]) -> Vec<ClusterOption> {
        let options = |slot: &VersionedRange| {
            let first = slot.first_sector();
            let is_named =
                |version: &VisibleVersion| names.contains(&(slot.dev, first, version.number));
            let named = (1..).zip(&slot.versions).filter(|(_, version)| is_named(version));
            let mut digits: Vec<usize> = named.map(|(digit, _)| digit).collect();
            let alone =
                self.slots.iter().filter(|other| other.first_sector() == first).count() == 1;
            if digits.is_empty() || !alone {
                digits.push(0);
            }
            digits
        };
        let options: Vec<Vec<usize>> = self.slots.iter().map(options).collect();
        product(&options)
            .map(|digits| {
                let digits: VersionVector = digits.into_iter().copied().collect();
                let outcome = self.outcome(&digits);
                (digits, outcome)
            })
            .collect()
    }

    /// What keeping these versions does to the image.
    pub fn outcome(&self, digits: &[usize]) -> ClusterEffect {
        let kept = self.kept(digits);
        let since = kept.iter().map(|(_, version)| version.since).max().unwrap_or(0);
        let on_disk = match kept[..] {
            [(slot, version)] => self.difference_of_one(slot, version),
            _ => self.difference(&kept),
        };
        ClusterEffect { on_disk, identity: on_disk.on_device(self.dev), since }
    }

    /// The difference that one version alone makes to the disk's identity.
    fn difference_of_one(&self, slot: &VersionedRange, version: &VisibleVersion) -> Identity {
        let mut difference = Identity::default();
        for range in slot.sectors.iter() {
            if !version.is_zeroes() {
                difference =
                    range.clone().map(|at| version.identity(at)).fold(difference, Identity::add);
            }
            difference = self.durable_in(range).iter().fold(difference, |sum, (_, had)| sum - *had);
        }
        difference
    }

    /// The difference that several versions make, of which a later one may write over an earlier
    /// one.
    fn difference(&self, kept: &[(&VersionedRange, &VisibleVersion)]) -> Identity {
        // Of what is zeroes before and after nothing is noted.
        let mut sectors: BTreeMap<u64, Identity> = BTreeMap::new();
        for (slot, version) in kept {
            for range in slot.sectors.iter() {
                if version.is_zeroes() {
                    let had =
                        self.durable_in(range).iter().map(|(at, _)| (*at, Identity::default()));
                    sectors.extend(had);
                    sectors
                        .range_mut(range.clone())
                        .for_each(|(_, new)| *new = Identity::default());
                } else {
                    sectors.extend(range.clone().map(|at| (at, version.identity(at))));
                }
            }
        }
        let had = |at: &u64| {
            let found = self.durable.binary_search_by_key(at, |(sector, _)| *sector);
            found.map_or_else(|_| Identity::default(), |index| self.durable[index].1)
        };
        sectors.iter().fold(Identity::default(), |sum, (at, new)| sum + *new - had(at))
    }

    /// What the sectors of a range add to the identity of D now.
    fn durable_in(&self, range: &Range<u64>) -> &[(u64, Identity)] {
        let before = |end: u64| self.durable.partition_point(|(sector, _)| *sector < end);
        &self.durable[before(range.start)..before(range.end)]
    }

    /// Writes the kept versions to an image.
    pub fn apply(&self, digits: &[usize], outcome: &ClusterEffect, image: &mut Image) {
        let disk = image.disk_mut(self.dev);
        // All of it is added with the first bytes.
        let mut difference = outcome.on_disk;
        for (slot, version) in self.kept(digits) {
            if let Some((block, bytes)) = version.block() {
                disk.share_known(block, bytes, std::mem::take(&mut difference));
                continue;
            }
            for range in slot.sectors.iter() {
                let difference = std::mem::take(&mut difference);
                match version.written(range) {
                    PieceBytes::Data(data) => disk.write_known(range.start, data, difference),
                    PieceBytes::Zeroes => disk.write_zeroes_known(range.clone(), difference),
                }
            }
        }
    }

    /// Names the kept versions.
    pub fn names(&self, digits: &[usize]) -> Vec<KeptPiece> {
        let name = |(slot, version): (&VersionedRange, &VisibleVersion)| KeptPiece {
            dev: slot.dev,
            sector: slot.first_sector(),
            version: version.number,
        };
        self.kept(digits).into_iter().map(name).collect()
    }

    /// The kept versions in the order in which they reach the disk.
    fn kept(&self, digits: &[usize]) -> Vec<(&VersionedRange, &VisibleVersion)> {
        let chosen = self.slots.iter().zip(digits).filter(|(_, digit)| **digit > 0);
        let mut kept: Vec<_> =
            chosen.map(|(slot, digit)| (slot, &slot.versions[digit - 1])).collect();
        kept.sort_by_key(|(_, version)| version.serial);
        kept
    }
}
