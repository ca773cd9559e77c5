//! Ranges that overlap, and what a crash can leave of them together.
//!
//! Ranges that share no sector change an image independently. A cluster is a set of ranges that are
//! connected by shared sectors, so each cluster can be treated alone. An outcome of a cluster is
//! one choice for each of its ranges: no version, or one of them.

use std::collections::BTreeMap;
use std::ops::{Add as _, Range};
use std::{option, vec};

use explode_ramdisk::{Disk, Identity, Image};
use itertools::Either;

use super::big_index::BigIndex;
use super::named::product;
use super::piece::{KeptPiece, PieceName};
use crate::writeset::{PieceBytes, VersionedRange, VisibleVersion};

/// A cluster: the ranges of one device that are connected by shared sectors. Usually it has one
/// range.
#[derive(Debug)]
pub(super) struct Cluster {
    dev: u32,
    ranges: Vec<VersionedRange>,
    /// The share of each sector in the identity of D, in order of sectors. Sectors of zeroes have
    /// no share and are omitted.
    durable: Vec<(u64, Identity)>,
}

/// The effect of one choice for a cluster on an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterEffect {
    /// The difference to the disk's identity.
    pub on_disk: Identity,
    /// The difference to the image's identity.
    pub identity: Identity,
    /// The first instant at which all kept versions are visible.
    pub since: u64,
}

/// The sum of the choices for several clusters, which share no sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct CombinedEffect {
    /// The image's identity.
    pub identity: Identity,
    /// The first instant at which everything that is kept is visible.
    pub since: u64,
}

/// The version that is kept in each range: 0 for none, 1 for the oldest visible one.
pub(super) type VersionVector = Vec<usize>;

/// A version that is kept, with its range.
type KeptVersion<'a> = (&'a VersionedRange, &'a VisibleVersion);

/// One choice for a cluster, and its effect.
pub(super) type ClusterOption = (VersionVector, ClusterEffect);

impl CombinedEffect {
    /// Adds the effect of one more cluster.
    pub fn and(self, other: &ClusterEffect) -> CombinedEffect {
        CombinedEffect {
            identity: self.identity + other.identity,
            since: self.since.max(other.since),
        }
    }
}

impl Cluster {
    /// Groups ranges into clusters. Both are in the order of devices and first sectors. Ranges
    /// whose spans overlap are in one cluster even if they share no sector. That costs time but
    /// changes no result.
    pub fn group(ranges: Vec<VersionedRange>, durable: &Image) -> Vec<Cluster> {
        let mut groups: Vec<Vec<VersionedRange>> = Vec::new();
        let mut end = 0;
        for range in ranges {
            let span_end = range.sectors.last().map_or(0, |part| part.end);
            match groups.last_mut() {
                Some(group) if group[0].dev == range.dev && range.first_sector() < end => {
                    end = end.max(span_end);
                    group.push(range);
                }
                _ => {
                    end = span_end;
                    groups.push(vec![range]);
                }
            }
        }
        groups.into_iter().map(|ranges| Cluster::new(ranges, durable)).collect()
    }

    fn new(ranges: Vec<VersionedRange>, durable: &Image) -> Cluster {
        let dev = ranges[0].dev;
        let empty = Disk::new();
        let disk = durable.disk(dev).unwrap_or(&empty);
        let parts = ranges.iter().flat_map(|range| range.sectors.iter());
        let mut durable: Vec<_> = parts.flat_map(|part| disk.shares(part.clone())).collect();
        if ranges.len() > 1 {
            durable.sort_unstable_by_key(|(sector, _)| *sector);
            durable.dedup_by_key(|(sector, _)| *sector);
        }
        Cluster { dev, ranges, durable }
    }

    /// Returns the number of outcomes.
    pub fn count(&self) -> BigIndex {
        self.ranges.iter().fold(BigIndex::Small(1), |count, range| count.times(&base(range)))
    }

    /// Returns all outcomes, in the order of their numbers. Only for counts that fit into memory.
    pub fn outcomes(&self) -> Vec<ClusterOption> {
        let mut digits = vec![0; self.ranges.len()];
        let mut outcomes = Vec::new();
        loop {
            outcomes.push((digits.clone(), self.outcome(&digits)));
            let more = |k: &usize| digits[*k] < self.ranges[*k].versions.len();
            let Some(turning) = (0..digits.len()).rev().find(more) else { return outcomes };
            digits[turning] += 1;
            digits[turning + 1..].fill(0);
        }
    }

    /// Returns the digits of outcome `index`. The digit of the last range changes fastest.
    pub fn digits(&self, mut index: BigIndex) -> VersionVector {
        let mut digits: VersionVector = Vec::with_capacity(self.ranges.len());
        for range in self.ranges.iter().rev() {
            match index.take_digit(&base(range)) {
                BigIndex::Small(digit) => digits.push(digit as usize),
                BigIndex::Large(_) => unreachable!("a digit is smaller than its base"),
            }
        }
        digits.reverse();
        digits
    }

    /// Returns the ranges of the cluster.
    pub fn ranges(&self) -> impl Iterator<Item = &VersionedRange> {
        self.ranges.iter()
    }

    /// Returns the choices that may keep exactly those of the named pieces that are in this
    /// cluster. There is one, unless ranges that begin at the same sector make names ambiguous.
    pub fn named(&self, names: &[PieceName]) -> Vec<ClusterOption> {
        let options = |range: &VersionedRange| {
            let first = range.first_sector();
            let is_named =
                |version: &VisibleVersion| names.contains(&(range.dev, first, version.number));
            let named = (1..).zip(&range.versions).filter(|(_, version)| is_named(version));
            let mut digits: Vec<usize> = named.map(|(digit, _)| digit).collect();
            let alone =
                self.ranges.iter().filter(|other| other.first_sector() == first).count() == 1;
            if digits.is_empty() || !alone {
                digits.push(0);
            }
            digits
        };
        let options: Vec<Vec<usize>> = self.ranges.iter().map(options).collect();
        product(&options)
            .map(|digits| {
                let digits: VersionVector = digits.into_iter().copied().collect();
                let outcome = self.outcome(&digits);
                (digits, outcome)
            })
            .collect()
    }

    /// Returns the effect on the image of keeping these versions.
    pub fn outcome(&self, digits: &[usize]) -> ClusterEffect {
        let kept = self.kept(digits);
        let since = kept.clone().map(|(_, version)| version.since).max().unwrap_or(0);
        let on_disk = match kept {
            Either::Left(one) => one.fold(Identity::default(), |_, (range, version)| {
                self.difference_of_one(range, version)
            }),
            Either::Right(several) => self.difference(several),
        };
        ClusterEffect { on_disk, identity: on_disk.on_device(self.dev), since }
    }

    /// Returns the difference that a single version makes to the disk's identity.
    fn difference_of_one(&self, range: &VersionedRange, version: &VisibleVersion) -> Identity {
        let mut difference = Identity::default();
        for part in range.sectors.iter() {
            if !version.is_zeroes() {
                difference =
                    part.clone().map(|at| version.identity(at)).fold(difference, Identity::add);
            }
            difference = self.durable_in(part).iter().fold(difference, |sum, (_, had)| sum - *had);
        }
        difference
    }

    /// Returns the difference that several versions make to the disk's identity. A later version
    /// may overwrite an earlier one.
    fn difference<'a>(&self, kept: impl Iterator<Item = KeptVersion<'a>>) -> Identity {
        // Sectors that are zeroes before and after are not recorded.
        let mut sectors: BTreeMap<u64, Identity> = BTreeMap::new();
        for (range, version) in kept {
            for part in range.sectors.iter() {
                if version.is_zeroes() {
                    let had =
                        self.durable_in(part).iter().map(|(at, _)| (*at, Identity::default()));
                    sectors.extend(had);
                    sectors.range_mut(part.clone()).for_each(|(_, new)| *new = Identity::default());
                } else {
                    sectors.extend(part.clone().map(|at| (at, version.identity(at))));
                }
            }
        }
        let had = |at: &u64| {
            let found = self.durable.binary_search_by_key(at, |(sector, _)| *sector);
            found.map_or_else(|_| Identity::default(), |index| self.durable[index].1)
        };
        sectors.iter().fold(Identity::default(), |sum, (at, new)| sum + *new - had(at))
    }

    /// Returns the shares of these sectors in the identity of D.
    fn durable_in(&self, part: &Range<u64>) -> &[(u64, Identity)] {
        let before = |end: u64| self.durable.partition_point(|(sector, _)| *sector < end);
        &self.durable[before(part.start)..before(part.end)]
    }

    /// Writes the kept versions to an image.
    pub fn apply(&self, digits: &[usize], outcome: &ClusterEffect, image: &mut Image) {
        let disk = image.disk_mut(self.dev);
        // The whole difference is added with the first bytes.
        let mut difference = outcome.on_disk;
        for (range, version) in self.kept(digits) {
            if let Some((block, bytes)) = version.block() {
                disk.share_known(block, bytes, std::mem::take(&mut difference));
                continue;
            }
            for part in range.sectors.iter() {
                let difference = std::mem::take(&mut difference);
                match version.written(part) {
                    PieceBytes::Data(data) => disk.write_known(part.start, data, difference),
                    PieceBytes::Zeroes => disk.write_zeroes_known(part.clone(), difference),
                }
            }
        }
    }

    /// Returns the names of the kept versions.
    pub fn names(&self, digits: &[usize]) -> Vec<KeptPiece> {
        let name = |(range, version): (&VersionedRange, &VisibleVersion)| KeptPiece {
            dev: range.dev,
            sector: range.first_sector(),
            version: version.number,
        };
        self.kept(digits).map(name).collect()
    }

    /// Returns the kept versions in the order in which they reach the disk.
    fn kept<'a>(
        &'a self,
        digits: &[usize],
    ) -> Either<option::IntoIter<KeptVersion<'a>>, vec::IntoIter<KeptVersion<'a>>> {
        let version = |(range, digit): (&'a VersionedRange, &usize)| {
            Some((range, &range.versions[digit.checked_sub(1)?]))
        };
        if let ([range], [digit]) = (&self.ranges[..], digits) {
            return Either::Left(version((range, digit)).into_iter());
        }
        let mut kept: Vec<_> = self.ranges.iter().zip(digits).filter_map(version).collect();
        kept.sort_by_key(|(_, version)| version.serial);
        Either::Right(kept.into_iter())
    }
}

/// Returns the number of choices for a range.
fn base(range: &VersionedRange) -> BigIndex {
    BigIndex::Small(range.versions.len() as u64 + 1)
}
