//! An emission: all disks that a crash at one instant can leave, as a product over clusters, summed
//! over the worlds.
//!
//! Disks are numbered world by world. Within a world they are numbered like an odometer whose last
//! cluster turns fastest. Disk 0 keeps nothing, in the world in which no flush has ended. The last
//! disk keeps the newest version of everything, in the world in which all flushes have ended.

use explode_ramdisk::{Identity, Image};
use num_bigint::BigUint;

use super::big_index::BigIndex;
use super::cluster::{Cluster, ClusterOption, CombinedEffect};
use super::epoch::Epochs;
use super::named::product;
use super::outcome_table::OutcomeTable;
use super::piece::{KeptPiece, PieceName};
use crate::writeset::{PreflushWorld, VersionedRange, WriteSet};

/// The disks of one instant.
#[derive(Debug)]
pub(super) struct Emission {
    /// The worlds. Bit i of a world's index is set if the flush of `unstarted[i]` has ended.
    pub worlds: Vec<Layout>,
    /// The instants at which the writes with PREFLUSH were submitted whose flush may have ended or
    /// not, oldest first.
    pub unstarted: Vec<u64>,
}

/// The disks of one world.
#[derive(Debug)]
pub(super) struct Layout {
    durable: Image,
    identity: Identity,
    since: u64,
    clusters: Vec<Cluster>,
    count: BigUint,
}

/// A crash disk that is not built yet.
#[derive(Debug)]
pub struct CrashDisk<'a> {
    layout: &'a Layout,
    /// One choice for each cluster.
    chosen: &'a [&'a ClusterOption],
    identity: Identity,
    epochs: Epochs,
}

impl CrashDisk<'_> {
    /// Returns the image's identity.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns the epochs in which a crash can leave the disk.
    pub fn epochs(&self) -> Epochs {
        self.epochs
    }

    /// Builds the disk.
    pub fn image(&self) -> Image {
        let mut image = self.layout.durable.clone();
        for (cluster, (digits, outcome)) in self.layout.clusters.iter().zip(self.chosen) {
            cluster.apply(digits, outcome, &mut image);
        }
        image
    }

    /// Returns the pieces of the write set that the disk has kept.
    pub fn kept(&self) -> Vec<KeptPiece> {
        let clusters = self.layout.clusters.iter().zip(self.chosen);
        clusters.flat_map(|(cluster, (digits, _))| cluster.names(digits)).collect()
    }
}

impl Emission {
    /// Returns the disks that `write_set` allows now.
    pub fn of(write_set: &WriteSet) -> Emission {
        let worlds = write_set.worlds().into_iter().map(Layout::of).collect();
        Emission { worlds, unstarted: write_set.unstarted() }
    }

    /// Returns the number of disks. Disks with equal contents are counted separately.
    pub fn count(&self) -> BigUint {
        self.worlds.iter().map(|world| &world.count).sum()
    }

    /// Returns the number of the disk of a world that keeps in each range the version that `digit`
    /// returns: 0 for none, 1 for the oldest visible one. Ranges are numbered in the order of
    /// [`Layout::ranges`].
    pub fn number(&self, world: usize, digit: impl Fn(usize, &VersionedRange) -> usize) -> BigUint {
        let before: BigUint = self.worlds[..world].iter().map(|world| &world.count).sum();
        before + self.worlds[world].number(digit)
    }

    /// Visits every disk in order. `epochs` returns the epochs of a disk from the first instant at
    /// which it is possible.
    pub fn each(&self, epochs: &dyn Fn(u64) -> Epochs, visit: &mut dyn FnMut(&CrashDisk<'_>)) {
        for world in &self.worlds {
            world.each(epochs, visit);
        }
    }

    /// Visits the last disk, which keeps the newest version of everything and has all flushes
    /// ended.
    pub fn last(&self, epochs: &dyn Fn(u64) -> Epochs, visit: &mut dyn FnMut(&CrashDisk<'_>)) {
        self.some(&[self.count() - 1u32], epochs, visit);
    }

    /// Visits the disks with these numbers, which are in order.
    pub fn some(
        &self,
        numbers: &[BigUint],
        epochs: &dyn Fn(u64) -> Epochs,
        visit: &mut dyn FnMut(&CrashDisk<'_>),
    ) {
        let mut numbers = numbers.iter().peekable();
        let mut before = BigUint::ZERO;
        for world in &self.worlds {
            let end = &before + &world.count;
            let mut table = OutcomeTable::of(&world.clusters);
            while let Some(number) = numbers.next_if(|number| **number < end) {
                let number = BigIndex::from(number - &before);
                world.visit_one(&table.choices(number), epochs, visit);
            }
            before = end;
        }
    }
}

impl Layout {
    fn of(world: PreflushWorld) -> Layout {
        let clusters = Cluster::group(world.ranges, &world.durable);
        let count = clusters.iter().fold(BigIndex::Small(1), |all, one| all.times(&one.count()));
        let count = BigUint::from(count);
        let identity = world.durable.identity();
        Layout { durable: world.durable, identity, since: world.since, clusters, count }
    }

    fn each(&self, epochs: &dyn Fn(u64) -> Epochs, visit: &mut dyn FnMut(&CrashDisk<'_>)) {
        let tables: Vec<Vec<ClusterOption>> = self.clusters.iter().map(Cluster::outcomes).collect();
        let start = CombinedEffect { identity: self.identity, since: self.since };
        // The odometer: `sums[k]` is the sum of the first k clusters' choices, `turn[..k]`.
        let mut turn = vec![0; tables.len()];
        let mut chosen: Vec<&ClusterOption> = tables.iter().map(|table| &table[0]).collect();
        let mut sums = vec![start; tables.len() + 1];
        let mut changed = 0;
        loop {
            for k in changed..tables.len() {
                chosen[k] = &tables[k][turn[k]];
                sums[k + 1] = sums[k].and(&chosen[k].1);
            }
            let CombinedEffect { identity, since } = sums[tables.len()];
            visit(&CrashDisk { layout: self, chosen: &chosen, identity, epochs: epochs(since) });
            let Some(turning) = (0..tables.len()).rev().find(|k| turn[*k] + 1 < tables[*k].len())
            else {
                return;
            };
            turn[turning] += 1;
            turn[turning + 1..].fill(0);
            changed = turning;
        }
    }

    /// Visits the disks that may have kept exactly the pieces with these names. If names are
    /// ambiguous or no pieces have them, it visits other disks as well.
    pub fn named(
        &self,
        names: &[PieceName],
        epochs: &dyn Fn(u64) -> Epochs,
        visit: &mut dyn FnMut(&CrashDisk<'_>),
    ) {
        let options_of = |cluster: &Cluster| cluster.named(names);
        let tables: Vec<Vec<ClusterOption>> = self.clusters.iter().map(options_of).collect();
        for chosen in product(&tables) {
            self.visit_one(&chosen, epochs, visit);
        }
    }

    fn number(&self, digit: impl Fn(usize, &VersionedRange) -> usize) -> BigUint {
        let mut number = BigUint::ZERO;
        // Digits are combined in a machine's number, as many as fit, before they are added to the
        // large number.
        let (mut digits, mut scale) = (0_u64, 1_u64);
        for (index, range) in self.ranges().enumerate() {
            let (digit, base) = (digit(index, range) as u64, range.versions.len() as u64 + 1);
            if scale.checked_mul(base).is_none() {
                number = number * scale + digits;
                (digits, scale) = (0, 1);
            }
            digits = digits * base + digit;
            scale *= base;
        }
        number * scale + digits
    }

    /// Returns the ranges of the world, in the order of devices and first sectors.
    pub fn ranges(&self) -> impl Iterator<Item = &VersionedRange> {
        self.clusters.iter().flat_map(Cluster::ranges)
    }

    fn visit_one(
        &self,
        chosen: &[&ClusterOption],
        epochs: &dyn Fn(u64) -> Epochs,
        visit: &mut dyn FnMut(&CrashDisk<'_>),
    ) {
        let start = CombinedEffect { identity: self.identity, since: self.since };
        let CombinedEffect { identity, since } =
            chosen.iter().fold(start, |sum, (_, outcome)| sum.and(outcome));
        visit(&CrashDisk { layout: self, chosen, identity, epochs: epochs(since) });
    }
}
