//! PCT: options are drawn by priority.

use std::collections::BTreeMap;

use super::bare::{BarePoint, WalkAnswers};
use super::draws::Draws;

/// The lower bound of drawn priorities. Identities that have fallen are below it.
const DRAWN: u64 = 1 << 63;

/// PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte: *A Randomized Scheduler with Probabilistic
/// Guarantees of Finding Bugs*, ASPLOS 2010), applied to choices between options that have
/// identities.
///
/// Each identity has a priority, drawn when a walk first meets it. The option with the highest
/// priority is the answer. At d - 1 steps, drawn from the first k before the walk, the identity
/// with the highest priority falls below all others before the answer is taken. A bug that appears
/// whenever d events happen in the right order is then found by each walk with a probability of at
/// least `1 / (n k^(d-1))`, if n identities take at most k steps.
///
/// A point is a step if its options have identities. Every other point is data, and is drawn
/// uniformly. Points that must be fair are drawn uniformly as well.
pub(super) struct Pct {
    draws: Draws,
    priorities: Priorities,
    /// The steps, from 1, at which an identity falls, in the order in which they were drawn.
    changes: Vec<u32>,
    /// The first of the steps in `changes` that is still to come. 0 if none is.
    next_change: u32,
    steps: u32,
}

impl Pct {
    /// Returns the answers of a walk that searches for bugs of depth `d` within `k` steps.
    pub(super) fn new(mut draws: Draws, d: u32, k: u32) -> Pct {
        let changes: Vec<u32> = (1..d).map(|_| 1 + draws.option(k)).collect();
        let next_change = changes.iter().copied().min().unwrap_or_default();
        Pct { draws, priorities: Priorities::new(), changes, next_change, steps: 0 }
    }

    /// Lets the best identity fall once for each change that is drawn for this step.
    fn fall(&mut self, ids: &[u64]) {
        for (place, change) in self.changes.iter().enumerate() {
            if *change == self.steps {
                let best = Best::of(ids, &mut self.priorities, &mut self.draws);
                self.priorities.set(ids[best.first], place as u64 + 1);
            }
        }
        let to_come = self.changes.iter().copied().filter(|change| *change > self.steps);
        self.next_change = to_come.min().unwrap_or_default();
    }
}

impl WalkAnswers for Pct {
    fn answer(&mut self, point: &BarePoint<'_>) -> u32 {
        if point.by_weight {
            return self.draws.weighted(point.options, point.weights);
        }
        if point.ids.is_empty() || point.is_fair {
            return self.draws.option(point.options);
        }
        self.steps += 1;
        if self.steps == self.next_change {
            self.fall(point.ids);
        }
        let best = Best::of(point.ids, &mut self.priorities, &mut self.draws);
        if best.options == 1 {
            return best.first as u32;
        }
        // Of several options with the highest priority one is drawn. They have one identity.
        let (at, id) = (self.draws.option(best.options), point.ids[best.first]);
        let (mut seen, mut option) = (0, 0);
        for other in point.ids {
            seen += u32::from(*other == id);
            option += u32::from(seen <= at);
        }
        option
    }
}

/// The options with the highest priority.
struct Best {
    first: usize,
    /// The number of options that have this priority.
    options: u32,
}

impl Best {
    /// Returns the best of at least one option. Identities that are met for the first time get
    /// their priorities, in the order of the options.
    #[inline]
    fn of(ids: &[u64], priorities: &mut Priorities, draws: &mut Draws) -> Best {
        let (mut highest, mut best) = (0, Best { first: 0, options: 0 });
        for (option, id) in ids.iter().enumerate() {
            let priority = priorities.get(*id, draws);
            let is_higher = priority > highest;
            best.options =
                u32::from(priority == highest) + if is_higher { 1 } else { best.options };
            if is_higher {
                (highest, best.first) = (priority, option);
            }
        }
        best
    }
}

/// The number of identities that are found without a search.
const NEAR: usize = 32;

/// The priority of each identity that a walk has met.
struct Priorities {
    all: BTreeMap<u64, u64>,
    /// Some of `all`, each at the place that its identity hashes to. An empty place has an
    /// identity that hashes to another one, so it is never found.
    near: [(u64, u64); NEAR],
}

impl Priorities {
    fn new() -> Priorities {
        let mut near = [(0, 0); NEAR];
        near[place(0)].0 = 1;
        Priorities { all: BTreeMap::new(), near }
    }

    /// Returns the priority of an identity, and draws it if there is none.
    #[inline]
    fn get(&mut self, id: u64, draws: &mut Draws) -> u64 {
        let (near, priority) = self.near[place(id)];
        if near == id { priority } else { self.find(id, draws) }
    }

    #[cold]
    fn find(&mut self, id: u64, draws: &mut Draws) -> u64 {
        let priority = *self.all.entry(id).or_insert_with(|| DRAWN | draws.draw());
        self.near[place(id)] = (id, priority);
        priority
    }

    fn set(&mut self, id: u64, priority: u64) {
        self.all.insert(id, priority);
        self.near[place(id)] = (id, priority);
    }
}

/// Returns the place of an identity in [`Priorities::near`]: the highest bits of its product with
/// 2^64 divided by the golden ratio (Knuth, *The Art of Computer Programming* 3, section 6.4).
const fn place(id: u64) -> usize {
    (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - NEAR.ilog2())) as usize
}

const _: () = assert!(place(1) != place(0));

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::choose::ChoiceKind;

    /// PCT as its definition says, with a map and without shortcuts.
    struct Plain {
        draws: Draws,
        priorities: BTreeMap<u64, u64>,
        changes: Vec<u32>,
        steps: u32,
    }

    impl Plain {
        fn answer(&mut self, ids: &[u64]) -> u32 {
            self.steps += 1;
            for id in ids {
                self.priorities.entry(*id).or_insert_with(|| DRAWN | self.draws.draw());
            }
            let best = |priorities: &BTreeMap<u64, u64>| {
                *ids.iter().max_by_key(|id| priorities[*id]).expect("there is an option")
            };
            for (place, _) in (1..).zip(&self.changes).filter(|(_, change)| **change == self.steps)
            {
                let falls = best(&self.priorities);
                self.priorities.insert(falls, place);
            }
            let best = best(&self.priorities);
            let options: Vec<u32> =
                (0..).zip(ids).filter(|(_, id)| **id == best).map(|(option, _)| option).collect();
            match options[..] {
                [one] => one,
                _ => options[self.draws.below(options.len() as u64) as usize],
            }
        }
    }

    proptest! {
        /// Identities that share a place, and those of any size, have the answers of the plain
        /// form.
        #[test]
        fn the_answers_are_those_of_the_definition(
            seed: u64,
            (d, k) in (1_u32..6, 5_u32..40),
            ids in prop::collection::vec(
                prop::collection::vec(prop_oneof![0_u64..100, any::<u64>()], 2..9), 1..60),
        ) {
            let mut draws = Draws::new(seed, 0);
            let changes = (1..d).map(|_| 1 + draws.option(k)).collect();
            let mut plain = Plain { draws, priorities: BTreeMap::new(), changes, steps: 0 };
            let mut pct = Pct::new(Draws::new(seed, 0), d, k);
            for ids in &ids {
                let point = BarePoint {
                    kind: ChoiceKind::Schedule,
                    options: ids.len() as u32,
                    ids,
                    weights: &[],
                    by_weight: false,
                    is_fair: false,
                };
                prop_assert_eq!(pct.answer(&point), plain.answer(ids));
            }
        }
    }
}
