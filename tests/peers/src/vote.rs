//! Paxos for one value, without a disk: the same node for explode and for stateright.

use std::collections::{BTreeMap, BTreeSet};

/// The number of nodes.
pub const HOSTS: usize = 3;
/// The nodes that propose a value each: those below this number.
pub const PROPOSERS: usize = 2;

/// A ballot, and the value that was accepted in it.
pub type Accepted = (u64, u64);

/// A message. The first number is the ballot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vote {
    /// A proposer asks for promises.
    Prepare(u64),
    /// A node promises to take no earlier ballot.
    Promise(u64, Option<Accepted>),
    /// A proposer asks to accept a value.
    Accept(u64, u64),
    /// A node has accepted the value.
    Accepted(u64),
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Voter {
    promised: u64,
    accepted: Option<Accepted>,
    promises: BTreeMap<usize, Option<Accepted>>,
    value: Option<u64>,
    accepts: BTreeSet<usize>,
    /// The value that the node knows to be chosen.
    pub chosen: Option<u64>,
}

impl Voter {
    /// Returns the first messages of a node, each to all.
    pub fn first(id: usize) -> Option<Vote> {
        (id < PROPOSERS).then_some(Vote::Prepare(id as u64 + 1))
    }

    /// Handles a message. Returns the replies: to the sender, and to all.
    pub fn handle(&mut self, id: usize, from: usize, vote: Vote) -> (Option<Vote>, Option<Vote>) {
        let ballot = id as u64 + 1;
        match vote {
            Vote::Prepare(asked) if asked > self.promised => {
                self.promised = asked;
                (Some(Vote::Promise(asked, self.accepted)), None)
            }
            Vote::Accept(asked, value) if asked >= self.promised => {
                (self.promised, self.accepted) = (asked, Some((asked, value)));
                (Some(Vote::Accepted(asked)), None)
            }
            Vote::Promise(asked, accepted) if asked == ballot && self.value.is_none() => {
                self.promises.insert(from, accepted);
                if self.promises.len() <= HOSTS / 2 {
                    return (None, None);
                }
                let highest = self.promises.values().flatten().max();
                let value = highest.map_or(10 * ballot, |(_, value)| *value);
                self.value = Some(value);
                (None, Some(Vote::Accept(ballot, value)))
            }
            Vote::Accepted(asked) if asked == ballot => {
                self.accepts.insert(from);
                if self.accepts.len() > HOSTS / 2 {
                    self.chosen = self.value;
                }
                (None, None)
            }
            _ => (None, None),
        }
    }
}

/// Returns true if no two nodes know different values to be chosen.
pub fn agree(chosen: impl Iterator<Item = Option<u64>>) -> bool {
    chosen.flatten().collect::<BTreeSet<_>>().len() <= 1
}
