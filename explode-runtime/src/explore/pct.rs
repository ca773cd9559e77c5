//! PCT, probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatti: *A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs*, ASPLOS 2010), where choices are between options that have identities.
//!
//! Each identity has a priority, drawn when it is first seen in a walk; the option with the highest one is the answer. At
//! d - 1 steps of the first k, drawn before the walk, whoever would be the answer falls below all others first. A bug that shows
//! itself whenever d things happen in the right order is then found by each walk with a probability of at least
//! 1 / (n k^(d-1)), where n identities make at most k steps.
//!
//! A point is a step if its options have names, or if it is about who runs next, where their numbers are identities. Every other
//! point is data, and drawn uniformly.

use std::collections::BTreeMap;

use super::walks::Walks;
use super::{Finished, Strategy, Unit, Wants};
use crate::choose::{Kind, Point};

/// Priorities as they are drawn are not below this; those of who has fallen are.
const DRAWN: u64 = 1 << 63;

/// Walks by priorities; it never ends by itself.
#[derive(Debug)]
pub struct Pct {
    walks: Walks,
    d: u32,
    k: u32,
    priorities: BTreeMap<String, u64>,
    /// The steps, from 1, before which somebody falls, in the order in which they were drawn.
    changes: Vec<u32>,
    steps: u32,
}

impl Pct {
    /// The walks of this seed, of `depth` mutates, for bugs of depth `d` within `k` steps, neither of them 0.
    pub fn new(seed: u64, depth: u32, d: u32, k: u32) -> Pct {
        let walks = Walks::new(seed, depth);
        Pct { walks, d, k, priorities: BTreeMap::new(), changes: Vec::new(), steps: 0 }
    }

    /// Which of these has the highest priority.
    fn highest(&self, identities: &[String]) -> usize {
        let by_priority = |at: &usize| self.priorities.get(&identities[*at]);
        (0..identities.len()).max_by_key(by_priority).unwrap_or_default()
    }
}

impl Strategy for Pct {
    fn next(&mut self) -> Option<Unit> {
        let unit = self.walks.begin();
        self.priorities.clear();
        self.steps = 0;
        self.changes = (1..self.d).map(|_| 1 + self.walks.option(self.k)).collect();
        Some(unit)
    }

    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        let identities: Vec<String> = match point.kind {
            _ if !point.names.is_empty() => point.names.to_vec(),
            Kind::Schedule => (0..point.options).map(|option| option.to_string()).collect(),
            _ => return self.walks.option(point.options),
        };
        self.steps += 1;
        for identity in &identities {
            if !self.priorities.contains_key(identity) {
                let priority = DRAWN | self.walks.draw();
                self.priorities.insert(identity.clone(), priority);
            }
        }
        for (place, change) in self.changes.iter().enumerate() {
            if *change == self.steps {
                let falls = identities[self.highest(&identities)].clone();
                self.priorities.insert(falls, place as u64 + 1);
            }
        }
        self.highest(&identities) as u32
    }

    fn wants(&self) -> Wants {
        Wants { points: true, ..Wants::default() }
    }

    fn observe(&mut self, _finished: &Finished<'_>) {}
}
