//! Decodes a disk's number: one digit for each cluster, of which the last cluster's changes
//! fastest.
//!
//! The numbers of disks can be huge. Neighbouring clusters whose counts multiply to no more than a
//! machine's number form a group. The long division is then done once for each group, and the rest
//! with machine's numbers.

use std::collections::BTreeMap;

use num_bigint::BigUint;

use super::big_index::BigIndex;
use super::cluster::{Cluster, ClusterOption};

/// The digits of a world's numbers, with the choices that were decoded before.
pub(super) struct OutcomeTable<'a>(Vec<OutcomeGroup<'a>>);

/// A group of neighbouring clusters, which has one digit in the number of groups.
struct OutcomeGroup<'a> {
    /// The product of the counts of the clusters.
    count: BigUint,
    clusters: Vec<ClusterOutcomes<'a>>,
}

/// A cluster, which has one digit in the number of its group.
struct ClusterOutcomes<'a> {
    cluster: &'a Cluster,
    count: BigIndex,
    /// The choices that were decoded before.
    decoded: BTreeMap<BigIndex, ClusterOption>,
}

impl<'a> OutcomeTable<'a> {
    /// Returns the table of these clusters.
    pub fn of(clusters: &'a [Cluster]) -> OutcomeTable<'a> {
        let mut groups: Vec<OutcomeGroup<'a>> = Vec::new();
        for cluster in clusters {
            let count = cluster.count();
            let outcomes = ClusterOutcomes {
                cluster,
                count: BigIndex::from(count.clone()),
                decoded: BTreeMap::new(),
            };
            match groups.last_mut() {
                Some(group) if u64::try_from(&group.count * &count).is_ok() => {
                    group.count *= count;
                    group.clusters.push(outcomes);
                }
                _ => groups.push(OutcomeGroup { count, clusters: vec![outcomes] }),
            }
        }
        OutcomeTable(groups)
    }

    /// Returns the choices that a number encodes, in the order of the clusters.
    pub fn choices(&mut self, number: BigUint) -> Vec<&ClusterOption> {
        let mut rest = number;
        let mut choices = Vec::new();
        for OutcomeGroup { count, clusters } in self.0.iter_mut().rev() {
            let mut digits = BigIndex::from(&rest % &*count);
            rest /= &*count;
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
        self.decoded.entry(index).or_insert_with_key(|index| {
            let digits = self.cluster.digits(index.clone().into());
            let outcome = self.cluster.outcome(&digits);
            (digits, outcome)
        })
    }
}
