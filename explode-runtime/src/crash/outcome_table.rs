//! What a disk's number says: one digit a cluster, the last cluster's changes fastest.
//!
//! Numbers of disks can be huge. Neighbouring clusters whose counts multiply to no more than a
//! machine's number form a group, so that the long division is done once a group, and the rest on
//! machine's numbers.

use std::collections::BTreeMap;

use num_bigint::BigUint;

use super::big_index::BigIndex;
use super::cluster::{Cluster, ClusterOption};

/// The places of a world's numbers, and the choices that were met there before.
pub(super) struct OutcomeTable<'a>(Vec<OutcomeGroup<'a>>);

/// Neighbours: all that has one digit in a number of groups.
struct OutcomeGroup<'a> {
    /// The product of the counts.
    count: BigUint,
    places: Vec<OutcomeSlot<'a>>,
}

struct OutcomeSlot<'a> {
    cluster: &'a Cluster,
    count: BigIndex,
    met: BTreeMap<BigIndex, ClusterOption>,
}

impl<'a> OutcomeTable<'a> {
    /// Those of these clusters.
    pub fn of(clusters: &'a [Cluster]) -> OutcomeTable<'a> {
        let mut groups: Vec<OutcomeGroup<'a>> = Vec::new();
        for cluster in clusters {
            let count = cluster.count();
            let place =
                OutcomeSlot { cluster, count: BigIndex::from(count.clone()), met: BTreeMap::new() };
            match groups.last_mut() {
                Some(group) if u64::try_from(&group.count * &count).is_ok() => {
                    group.count *= count;
                    group.places.push(place);
                }
                _ => groups.push(OutcomeGroup { count, places: vec![place] }),
            }
        }
        OutcomeTable(groups)
    }

    /// The choices that a number names, in the order of the clusters.
    pub fn choices(&mut self, number: BigUint) -> Vec<&ClusterOption> {
        let mut rest = number;
        let mut choices = Vec::new();
        for OutcomeGroup { count, places } in self.0.iter_mut().rev() {
            let mut digits = BigIndex::from(&rest % &*count);
            rest /= &*count;
            choices.extend(places.iter_mut().rev().map(|place| place.choice(&mut digits)));
        }
        choices.reverse();
        choices
    }
}

impl OutcomeSlot<'_> {
    /// The choice that the last digit names; it is taken off.
    fn choice(&mut self, digits: &mut BigIndex) -> &ClusterOption {
        let index = digits.take_digit(&self.count);
        self.met.entry(index).or_insert_with_key(|index| {
            let digits = self.cluster.digits(index.clone().into());
            let outcome = self.cluster.outcome(&digits);
            (digits, outcome)
        })
    }
}
