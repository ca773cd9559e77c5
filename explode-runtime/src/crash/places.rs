//! What a disk's number says: one digit a cluster, the last cluster's changes fastest.
//!
//! Numbers of disks can be huge. Neighbouring clusters whose counts multiply to no more than a
//! machine's number form a group, so that the long division is done once a group, and the rest on
//! machine's numbers.

use std::collections::BTreeMap;

use num_bigint::BigUint;

use super::cluster::{Choice, Cluster};
use super::number::Number;

/// The places of a world's numbers, and the choices that were met there before.
pub(super) struct Places<'a>(Vec<Group<'a>>);

/// Neighbours: all that has one digit in a number of groups.
struct Group<'a> {
    /// The product of the counts.
    count: BigUint,
    places: Vec<Place<'a>>,
}

struct Place<'a> {
    cluster: &'a Cluster,
    count: Number,
    met: BTreeMap<Number, Choice>,
}

impl<'a> Places<'a> {
    /// Those of these clusters.
    pub fn of(clusters: &'a [Cluster]) -> Places<'a> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        for cluster in clusters {
            let count = cluster.count();
            let place = Place { cluster, count: Number::from(count.clone()), met: BTreeMap::new() };
            match groups.last_mut() {
                Some(group) if u64::try_from(&group.count * &count).is_ok() => {
                    group.count *= count;
                    group.places.push(place);
                }
                _ => groups.push(Group { count, places: vec![place] }),
            }
        }
        Places(groups)
    }

    /// The choices that a number names, in the order of the clusters.
    pub fn choices(&mut self, number: BigUint) -> Vec<&Choice> {
        let mut rest = number;
        let mut choices = Vec::new();
        for Group { count, places } in self.0.iter_mut().rev() {
            let mut digits = Number::from(&rest % &*count);
            rest /= &*count;
            choices.extend(places.iter_mut().rev().map(|place| place.choice(&mut digits)));
        }
        choices.reverse();
        choices
    }
}

impl Place<'_> {
    /// The choice that the last digit names; it is taken off.
    fn choice(&mut self, digits: &mut Number) -> &Choice {
        let index = digits.take_digit(&self.count);
        self.met.entry(index).or_insert_with_key(|index| {
            let digits = self.cluster.digits(index.clone().into());
            let outcome = self.cluster.outcome(&digits);
            (digits, outcome)
        })
    }
}
