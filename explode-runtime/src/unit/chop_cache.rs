//! Chops (EX-53): after some mutates a stack is unmounted, and a new stack is mounted on its disks.
//!
//! A chop is part of the path to a state and of a trace: every run of the path has it. Everything
//! written before a chop is durable after it, so no later crash reorders it. A chop saves work: its
//! disks are kept here with a copy of the checker, and a state after the chop is restored from
//! there. The kept states are only a cache. Without one, or if the checker cannot be copied, the
//! path is run from the pristine disks, chops included, with the same result.

use std::collections::BTreeMap;

use explode_ramdisk::Image;
use itertools::Itertools as _;
use xxhash_rust::xxh3::xxh3_128;

use crate::check::Checker;
use crate::choose::{Choice, choices_hash};
use crate::explore::State;
use crate::trace::Position;

/// The number of chopped states that are kept. States with a common chop are mostly explored in a
/// row.
const KEPT: usize = 128;

/// The calls of mutate after which there is a chop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChopPoints {
    /// After each N-th call, if another one follows.
    Every(u32),
    /// After these calls, as a trace lists them.
    At(Vec<u32>),
}

impl ChopPoints {
    /// Returns the chops of a run with this value of `--chop`.
    pub fn of(chop: Option<u32>) -> ChopPoints {
        chop.map_or_else(|| ChopPoints::At(Vec::new()), ChopPoints::Every)
    }

    /// Returns true if there is a chop after `mutates` calls and before the next.
    pub fn is_between(&self, mutates: u32) -> bool {
        match self {
            ChopPoints::Every(period) => mutates > 0 && mutates.is_multiple_of(*period),
            ChopPoints::At(list) => list.contains(&mutates),
        }
    }

    /// Returns true if there is a chop after the last call, which only a trace can have.
    pub fn is_last(&self, mutates: u32) -> bool {
        matches!(self, ChopPoints::At(list) if list.contains(&mutates))
    }
}

/// A state directly after a chop.
pub(super) struct ChopState {
    /// The contents of the devices.
    pub image: Image,
    /// The checker, which shares nothing with the stack.
    pub checker: Box<dyn Checker>,
    /// The position of the state.
    pub place: Position,
    /// The number of choices before the state.
    pub choices: usize,
}

impl ChopState {
    fn fork(&self) -> Option<ChopState> {
        let ChopState { image, place, choices, .. } = self;
        Some(ChopState {
            image: image.clone(),
            checker: self.checker.fork()?,
            place: *place,
            choices: *choices,
        })
    }
}

/// Chopped states by the path to them. The least recently used one is dropped first.
#[derive(Default)]
pub(super) struct ChopCache {
    states: BTreeMap<u128, (ChopState, u64)>,
    uses: u64,
}

impl ChopCache {
    /// Keeps a state that these choices lead to.
    pub fn keep(&mut self, choices: &[Choice], chopped: ChopState) {
        self.uses += 1;
        self.states.insert(PathHash::of(choices).key(chopped.place.mutates), (chopped, self.uses));
        if self.states.len() > KEPT {
            let oldest = self.states.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key);
            oldest.and_then(|key| self.states.remove(&key));
        }
    }

    /// Returns a copy of the last chopped state on the path to `state`. `None` if no such state is
    /// kept.
    pub fn last_before(&mut self, state: &State, chops: &ChopPoints) -> Option<ChopState> {
        let fits = |chopped: &ChopState| {
            chopped.place.mutates <= state.depth && chopped.choices <= state.choices.len()
        };
        // The checker demands the same chop on every run of a path.
        let is_chopped = |place: &Position| {
            chops.is_between(place.mutates) || place.mutates == 1 && place.remounted
        };
        let places: Vec<(u32, usize)> = self
            .states
            .values()
            .filter(|(chopped, _)| fits(chopped) && is_chopped(&chopped.place))
            .map(|(chopped, _)| (chopped.place.mutates, chopped.choices))
            .sorted_unstable()
            .dedup()
            .collect();
        let most = places.iter().map(|(_, choices)| *choices).max()?;
        let mut paths = vec![PathHash::default()];
        for choice in &state.choices[..most] {
            paths.push(paths[paths.len() - 1].then(choice));
        }
        let keys = places.iter().rev().map(|(mutates, choices)| paths[*choices].key(*mutates));
        let key = keys.into_iter().find(|key| self.states.contains_key(key))?;
        self.uses += 1;
        let (chopped, used) = self.states.get_mut(&key)?;
        *used = self.uses;
        chopped.fork()
    }
}

impl std::fmt::Debug for ChopCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} chopped states", self.states.len())
    }
}

/// A hash of choices that is extended choice by choice.
#[derive(Clone, Copy, Debug, Default)]
struct PathHash(u128);

impl PathHash {
    fn of(choices: &[Choice]) -> PathHash {
        choices.iter().fold(PathHash::default(), |path, choice| path.then(choice))
    }

    fn then(self, choice: &Choice) -> PathHash {
        let both = [self.0, choices_hash(std::slice::from_ref(choice))];
        PathHash(xxh3_128(&both.map(u128::to_le_bytes).concat()))
    }

    /// Returns the key of the state after `mutates` calls of mutate. Some calls make no choices.
    fn key(self, mutates: u32) -> u128 {
        self.0 ^ u128::from(mutates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Cx;
    use crate::choose::{ChoiceKind, Label};
    use crate::crash::Epoch;
    use crate::stack::Stack;
    use crate::verdict::CheckError;

    #[derive(Clone)]
    struct Nothing;

    impl Checker for Nothing {
        fn mutate(&mut self, _cx: &mut Cx<'_>) -> Result<(), CheckError> {
            Ok(())
        }
        fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
            Ok(())
        }
        fn fork(&self) -> Option<Box<dyn Checker>> {
            Some(Box::new(Nothing))
        }
    }

    fn choices(values: &[u32]) -> Vec<Choice> {
        let label = Label { site: "here".to_owned(), ..Label::default() };
        let choice = |value: &u32| Choice {
            kind: ChoiceKind::Action,
            options: 1000,
            value: *value,
            name: None,
            label: label.clone(),
        };
        values.iter().map(choice).collect()
    }

    fn keep(cache: &mut ChopCache, values: &[u32], mutates: u32) {
        let place = Position { mutates, ..Position::default() };
        let chopped = ChopState {
            image: Image::new(),
            checker: Box::new(Nothing),
            place,
            choices: values.len(),
        };
        cache.keep(&choices(values), chopped);
    }

    /// Returns the mutates and choices of the state that was found.
    fn find(cache: &mut ChopCache, values: &[u32], depth: u32) -> Option<(u32, usize)> {
        let state = State { choices: choices(values), depth };
        cache
            .last_before(&state, &ChopPoints::Every(2))
            .map(|chopped| (chopped.place.mutates, chopped.choices))
    }

    #[test]
    fn the_last_chop_on_the_way_is_found() {
        let mut cache = ChopCache::default();
        keep(&mut cache, &[1, 2], 2);
        keep(&mut cache, &[1, 2, 3], 4);
        assert_eq!(find(&mut cache, &[1], 1), None);
        assert_eq!(find(&mut cache, &[1, 2, 3], 3), Some((2, 2)));
        assert_eq!(find(&mut cache, &[1, 2, 3, 4], 4), Some((4, 3)), "one mutate made no choice");
        assert_eq!(find(&mut cache, &[1, 2, 4, 4], 5), Some((2, 2)));
        assert_eq!(find(&mut cache, &[2, 2, 3, 4], 5), None);
    }

    #[test]
    fn the_cache_drops_the_least_recently_used_state() {
        let mut cache = ChopCache::default();
        (0..KEPT as u32).for_each(|value| keep(&mut cache, &[value], 2));
        assert!(find(&mut cache, &[0], 2).is_some());
        keep(&mut cache, &[999], 2);
        assert_eq!(cache.states.len(), KEPT);
        assert_eq!(
            [0, 1, 2, 999].map(|value| find(&mut cache, &[value], 2).is_some()),
            [true, false, true, true]
        );
    }
}
