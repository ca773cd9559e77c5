//! The directed part of a sample: three families of disks of an emission (fault-model.md, section
//! 6).
//!
//! - *Prefixes* of the visible pieces in the order of the log. A disk that writes in order leaves
//!   one.
//! - *All but one* range. Such a disk shows a block that a checksum does not cover.
//! - *Only one* range. Such a disk shows a block that is written too early.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;

use super::emission::Emission;
use crate::writeset::VersionedRange;

/// The members that are not drawn yet, and the index of the family that supplies the next one.
pub(super) struct Families<'a> {
    emission: &'a Emission,
    families: [Vec<Member>; 3],
    turn: usize,
}

/// A disk of a family.
#[derive(Clone, Copy, Debug)]
enum Member {
    /// Keeps in this world the newest version of each range up to this serial number.
    Prefix { world: usize, serial: u64 },
    /// Keeps in the last world the newest version of each range except this one.
    AllBut { range: usize },
    /// Keeps in this world only the newest version of this range.
    Only { world: usize, range: usize },
}

impl<'a> Families<'a> {
    /// Returns the families of an emission.
    pub fn of(emission: &'a Emission) -> Families<'a> {
        let last = emission.worlds.last().map_or(0, |world| world.ranges().count());
        let all_but = (0..last).map(|range| Member::AllBut { range }).collect();
        Families { emission, families: [prefixes(emission), all_but, only(emission)], turn: 0 }
    }

    /// Returns the number of the next disk. `None` if all families are used up. The families take
    /// turns. `draw` returns a random index below a count. Members whose number is not `new` are
    /// dropped.
    pub fn next(
        &mut self,
        new: impl Fn(&BigUint) -> bool,
        mut draw: impl FnMut(usize) -> usize,
    ) -> Option<BigUint> {
        for _ in 0..self.families.len() {
            let family = &mut self.families[self.turn];
            self.turn = (self.turn + 1) % 3;
            while !family.is_empty() {
                let member = family.swap_remove(draw(family.len()));
                let number = number(self.emission, member);
                if new(&number) {
                    return Some(number);
                }
            }
        }
        None
    }
}

/// Returns the number of a member's disk.
fn number(emission: &Emission, member: Member) -> BigUint {
    let newest = |range: &VersionedRange| range.versions.len();
    match member {
        Member::Prefix { world, serial } => emission.number(world, |_, range| {
            range.versions.partition_point(|version| version.serial <= serial)
        }),
        Member::AllBut { range: lost } => {
            emission.number(emission.worlds.len() - 1, |index, range| {
                if index == lost { 0 } else { newest(range) }
            })
        }
        Member::Only { world, range: kept } => {
            emission.number(world, |index, range| if index == kept { newest(range) } else { 0 })
        }
    }
}

/// Returns one prefix for each visible piece, which is the last piece of the prefix. A piece that
/// was submitted after a write with PREFLUSH, or by it, reaches the disk after the flush has ended,
/// if the disk writes in order.
fn prefixes(emission: &Emission) -> Vec<Member> {
    let ranges = emission.worlds.iter().flat_map(|world| world.ranges());
    let versions = ranges.flat_map(|range| &range.versions);
    let pieces: BTreeMap<u64, Option<u64>> =
        versions.map(|version| (version.serial, version.submitted)).collect();
    let mut ended = 0;
    let member = |(serial, submitted): (u64, Option<u64>)| {
        let flushes = emission.unstarted.iter().filter(|flush| Some(**flush) <= submitted);
        ended = ended.max(flushes.count());
        Member::Prefix { world: (1 << ended) - 1, serial }
    };
    pieces.into_iter().map(member).collect()
}

/// Returns one member for each range, in the first world in which the range is visible.
fn only(emission: &Emission) -> Vec<Member> {
    let mut met = BTreeSet::new();
    let mut members = Vec::new();
    for (world, layout) in emission.worlds.iter().enumerate() {
        for (index, range) in layout.ranges().enumerate() {
            if met.insert((range.dev, &range.sectors)) {
                members.push(Member::Only { world, range: index });
            }
        }
    }
    members
}
