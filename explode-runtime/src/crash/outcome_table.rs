//! Decodes a disk's number: one digit for each cluster, of which the last cluster's changes
//! fastest.
//!
//! The numbers of disks can be huge. Neighbouring clusters whose counts multiply to no more than a
//! machine's number form a group. The long division is then done once for each group, and the rest
//! with machine's numbers.

use std::collections::BTreeMap;

use super::big_index::BigIndex;
use super::cluster::{Cluster, ClusterOption};

/// The digits of a world's numbers, with the choices that were decoded before.
pub(super) struct OutcomeTable<'a>(Vec<OutcomeGroup<'a>>);

/// A group of neighbouring clusters, which has one digit in the number of groups.
struct OutcomeGroup<'a> {
    /// The product of the counts of the clusters.
    count: BigIndex,
    clusters: Vec<ClusterOutcomes<'a>>,
}

/// A cluster, which has one digit in the number of its group.
struct ClusterOutcomes<'a> {
    cluster: &'a Cluster,
    count: BigIndex,
    decoded: DecodedOptions,
}

/// The choices of a cluster that were decoded before.
enum DecodedOptions {
    /// A place for each choice of a cluster with few of them.
    Few(Vec<Option<ClusterOption>>),
    /// Only the choices that were decoded, by their index.
    Many(BTreeMap<BigIndex, ClusterOption>),
}

/// The largest number of choices that each have a place.
const FEW: u64 = 16;

impl<'a> OutcomeTable<'a> {
    /// Returns the table of these clusters.
    pub fn of(clusters: &'a [Cluster]) -> OutcomeTable<'a> {
        let mut groups: Vec<OutcomeGroup<'a>> = Vec::new();
        for cluster in clusters {
            let count = cluster.count();
            let decoded = DecodedOptions::of(&count);
            let outcomes = ClusterOutcomes { cluster, count: count.clone(), decoded };
            let product = groups.last().map(|group| group.count.clone().times(&count));
            match (groups.last_mut(), product) {
                (Some(group), Some(product @ BigIndex::Small(_))) => {
                    group.count = product;
                    group.clusters.push(outcomes);
                }
                _ => groups.push(OutcomeGroup { count, clusters: vec![outcomes] }),
            }
        }
        OutcomeTable(groups)
    }

    /// Returns the choices that a number encodes, in the order of the clusters.
    pub fn choices(&mut self, number: BigIndex) -> Vec<&ClusterOption> {
        let mut rest = number;
        let mut choices = Vec::with_capacity(self.0.iter().map(|group| group.clusters.len()).sum());
        for OutcomeGroup { count, clusters } in self.0.iter_mut().rev() {
            let mut digits = rest.take_digit(count);
            choices.extend(clusters.iter_mut().rev().map(|cluster| cluster.choice(&mut digits)));
        }
        choices.reverse();
        choices
    }
}

impl ClusterOutcomes<'_> {
    /// Returns the choice that the last digit encodes, and removes the digit.
    fn choice(&mut self, digits: &mut BigIndex) -> &ClusterOption {
        let index = digits.take_digit(&self.count);
        let decode = |index: BigIndex| {
            let digits = self.cluster.digits(index);
            let outcome = self.cluster.outcome(&digits);
            (digits, outcome)
        };
        match (&mut self.decoded, index) {
            (DecodedOptions::Few(options), BigIndex::Small(index)) => {
                options[index as usize].get_or_insert_with(|| decode(BigIndex::Small(index)))
            }
            (DecodedOptions::Many(options), index) => {
                options.entry(index).or_insert_with_key(|index| decode(index.clone()))
            }
            (DecodedOptions::Few(_), BigIndex::Large(_)) => {
                unreachable!("a digit is smaller than its base")
            }
        }
    }
}

impl DecodedOptions {
    /// Returns no choices, with room for those of a cluster with `count` of them.
    fn of(count: &BigIndex) -> DecodedOptions {
        match count {
            BigIndex::Small(count @ ..=FEW) => {
                DecodedOptions::Few((0..*count).map(|_| None).collect())
            }
            _ => DecodedOptions::Many(BTreeMap::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use explode_ramdisk::{Event, Image};
    use num_bigint::BigUint;

    use super::super::emission::Emission;
    use super::super::epoch::{Epoch, Epochs};
    use crate::writeset::{DeviceRules, WriteSet};

    /// Returns the emission of 79 blocks with one version each, and of one with 20 versions.
    fn emission() -> Emission {
        let mut write_set = WriteSet::new(Image::new(), DeviceRules::default());
        let versions = (0..79).map(|block| (block, 1)).chain((1..=20).map(|fill| (79, fill)));
        for (block, fill) in versions {
            let data = vec![fill; 4096].into();
            write_set.apply(&Event::Dirty { dev: 0, sector: block * 8, data }).unwrap();
        }
        Emission::of(&write_set)
    }

    /// The number of disks does not fit into a machine's number, and one cluster has more choices
    /// than there are places.
    #[test]
    fn the_disk_of_a_number_has_that_number() {
        let emission = emission();
        assert_eq!(emission.count(), (BigUint::from(1u32) << 79) * 21u32);
        let steps = (0..50).map(|step| (emission.count() - 1u32) * step as u32 / 49u32);
        let numbers: Vec<BigUint> = (0..50u32).map(BigUint::from).chain(steps.skip(1)).collect();
        let mut found = Vec::new();
        emission.some(&numbers, &|_| Epochs::only_if(Epoch::Now, true), &mut |disk| {
            let kept = disk.kept();
            found.push(emission.number(0, |_, range| {
                let piece = kept.iter().find(|piece| piece.sector == range.first_sector());
                piece.map_or(0, |piece| piece.version as usize)
            }));
        });
        assert_eq!(found, numbers);
    }
}
