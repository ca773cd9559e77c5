//! The book of a unit that was run ahead: what each of its checks came to, so that its counts can be made up later.
//!
//! What a unit counts depends on the checks that were made before it. A unit that is run ahead of its turn does not know all of
//! them: it makes more checks than it would have made, and never fewer. When its turn has come, [`Account`](super::account) goes
//! through the book in the order of the unit, with all that is known by then, and leaves out what is known. There are books only
//! where every check is made: where some are skipped, which ones depends on more than their keys, and a unit has
//! [`Answers`](super::Answers) instead.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::base::{Count, as_json};
use crate::dedup::ByKey;
use crate::dedup::Keys;
use crate::verdict::Broken;

/// What the checks of a unit came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// The requests for crash checks, in order.
    pub requests: Vec<Request>,
    /// Checks that were fine, of disks whose recovery wrote nothing: no crash during it leaves anything else.
    pub at_rest: Keys,
    /// Checks that were fine, as deep in crashes during recovery as the user wants: whether their recovery wrote is not known.
    pub deepest: Keys,
    /// Checks that have shown a violation, of the kind of each of the end's errors.
    pub violated: Vec<Keys>,
    /// All others.
    pub others: Vec<Entry>,
    /// Where each of the end's errors was first met.
    pub firsts: Vec<Spot>,
    /// A mutate has seen a violation itself, at the end of the unit: the index of that error.
    pub violated_by_mutate: Option<u32>,
    /// What was broken at the end of the unit.
    pub broken: Vec<Broken>,
}

/// A request for crash checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The checks that it asked for, but for those that were known to be no errors.
    pub keys: Keys,
    /// Was there no error?
    pub sound: bool,
}

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which check.
    pub key: u128,
    /// The request that it belongs to, from 0.
    pub request: u32,
    /// Why it could not be made; none if it was fine.
    pub broken: Option<Broken>,
    /// How many crashes during recovery deep the disks that follow were checked.
    pub below: u32,
    /// The checks of the disks that a crash during its recovery leaves, in order.
    pub children: Keys,
    /// How many of those no sample met.
    #[serde(with = "as_json")]
    pub left_out: Count,
    /// Why they could not be gone through to the end.
    pub fault: Option<Broken>,
}

/// Where in a unit a check was met: the request, and the checks that led there by crashes during recovery, itself the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// The request, from 0.
    pub request: u32,
    /// The checks; none for a mutate that has seen a violation itself.
    pub path: Keys,
}

impl Book {
    /// Where its checks are.
    pub(super) fn index(&self) -> Index<'_> {
        let mut at: HashMap<u128, At, ByKey> = HashMap::default();
        at.extend(self.deepest.0.iter().map(|key| (*key, At::Deepest)));
        for (index, entry) in self.others.iter().enumerate() {
            // The one that says most.
            let deeper = |at: &At| matches!(at, At::Other(known) if self.others[*known].below >= entry.below);
            if !at.get(&entry.key).is_some_and(deeper) {
                at.insert(entry.key, At::Other(index));
            }
        }
        for (index, keys) in self.violated.iter().enumerate() {
            at.extend(keys.0.iter().map(|key| (*key, At::Violated(index))));
        }
        at.extend(self.at_rest.0.iter().map(|key| (*key, At::Rest)));
        Index { book: self, at }
    }

    /// Did it check nothing, and find nothing? Then what the unit comes to does not depend on what is known.
    pub fn is_empty(&self) -> bool {
        let asks = self.requests.iter().any(|request| !request.keys.0.is_empty());
        !asks && self.violated_by_mutate.is_none() && self.broken.is_empty()
    }

    /// About how much memory it takes, in bytes.
    pub fn weight(&self) -> usize {
        let keys = |keys: &Keys| keys.0.len() * 16;
        let requests: usize = self.requests.iter().map(|request| 64 + keys(&request.keys)).sum();
        let others: usize = self.others.iter().map(|entry| 256 + keys(&entry.children)).sum();
        let violated: usize = self.violated.iter().map(keys).sum();
        requests + others + violated + keys(&self.at_rest) + keys(&self.deepest)
    }
}

/// Where the checks of a book are.
pub(super) struct Index<'a> {
    book: &'a Book,
    at: HashMap<u128, At, ByKey>,
}

#[derive(Clone, Copy)]
enum At {
    Rest,
    Deepest,
    Violated(usize),
    Other(usize),
}

/// What a book says of a check.
pub(super) enum Says<'a> {
    /// Fine, and nothing follows.
    Fine,
    /// A violation of the kind of this error of the end.
    Violated(usize),
    /// More than that.
    More(&'a Entry),
}

impl<'a> Index<'a> {
    /// What the book says of a check that is followed so many crashes during recovery deep; none if it does not say all of it.
    pub fn find(&self, key: u128, below: u32, request: u32) -> Option<Says<'a>> {
        match *self.at.get(&key)? {
            At::Rest => Some(Says::Fine),
            At::Deepest => (below == 0).then_some(Says::Fine),
            At::Violated(index) => Some(Says::Violated(index)),
            At::Other(index) => {
                let entry = &self.book.others[index];
                // A sample is drawn anew for each request.
                let sampled = !entry.left_out.is_zero() && entry.request != request;
                let says_all = entry.broken.is_some() || below == 0 || entry.below >= below && !sampled;
                says_all.then_some(Says::More(entry))
            }
        }
    }
}
