//! Choice points without texts, for systems that make millions of choices in a second. A walk over
//! such points is recorded as numbers. Its labels and names are made when the walk is run again.

use xxhash_rust::xxh3::xxh3_64;

use super::{ChoiceKind, ChoicePoint};

/// A point that asks for a choice, without its label and the names of its options.
#[derive(Clone, Copy, Debug)]
pub struct BarePoint<'a> {
    /// The kind of the choice.
    pub kind: ChoiceKind,
    /// The number of options, at least 2.
    pub options: u32,
    /// The identity of each option, for strategies with priorities. Several options can have one
    /// identity: all of one host, for example. Empty if the point is data.
    pub ids: &'a [u64],
    /// The weight of each option. Empty if all are equal.
    pub weights: &'a [u32],
    /// True if every random policy draws by the weights, because they say how often a fault
    /// happens.
    pub by_weight: bool,
    /// True if the choice must be fair: no option may wait for ever. Priorities do not count.
    pub is_fair: bool,
}

/// The answers of a policy to points without texts.
pub trait WalkAnswers {
    /// Returns the answer to a point, less than its number of options.
    fn answer(&mut self, point: &BarePoint<'_>) -> u32;
}

/// Returns the identities of the options of a point with texts. Empty if the point is data.
pub(super) fn identities(point: &ChoicePoint<'_>) -> Vec<u64> {
    match point.kind {
        _ if !point.names.is_empty() => {
            point.names.iter().map(|name| xxh3_64(name.as_bytes())).collect()
        }
        ChoiceKind::Schedule => (0..u64::from(point.options)).collect(),
        _ => Vec::new(),
    }
}
