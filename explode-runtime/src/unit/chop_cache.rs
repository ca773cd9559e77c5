//! Chops (EX-53): now and then a stack is unmounted, its disks become the new beginning, and it is
//! mounted again.
//!
//! A chop is part of the way to a state, and of a trace: every run of that path chops there,
//! because what was written before a chop is durable after it, and no crash reorders it any more.
//! What a chop saves is work: the disks that it leaves are kept here, with a copy of the checker,
//! so that a state behind it is restored from there. They are only a cache. Where there is none, or
//! the checker has no copies, the way is gone from the pristine disks on, chops included, and leads
//! to the same.

use std::collections::BTreeMap;

use explode_ramdisk::Image;
use itertools::Itertools as _;
use xxhash_rust::xxh3::xxh3_128;

use crate::check::Checker;
use crate::choose::{Choice, choices_hash};
use crate::explore::State;
use crate::trace::Position;

/// So many chopped states are kept. States with a chop in common are mostly explored one after the
/// other.
const KEPT: usize = 128;

/// After which calls of mutate there is a chop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChopPoints {
    /// After each so many, if another one follows.
    Every(u32),
    /// After these, as a trace has them.
    At(Vec<u32>),
}

impl ChopPoints {
    /// Those of a run with this option.
    pub fn of(chop: Option<u32>) -> ChopPoints {
        chop.map_or_else(|| ChopPoints::At(Vec::new()), ChopPoints::Every)
    }

    /// Is there one after so many calls, of which this is not the last?
    pub fn is_between(&self, mutates: u32) -> bool {
        match self {
            ChopPoints::Every(period) => mutates > 0 && mutates.is_multiple_of(*period),
            ChopPoints::At(list) => list.contains(&mutates),
        }
    }

    /// Is there one after the last call of all? A trace that ends in a chop has one.
    pub fn is_last(&self, mutates: u32) -> bool {
        matches!(self, ChopPoints::At(list) if list.contains(&mutates))
    }
}

/// A state right after a chop.
pub(super) struct ChopState {
    /// What the devices hold.
    pub image: Image,
    /// The checker, which has no part of the stack.
    pub checker: Box<dyn Checker>,
    /// How far it is.
    pub place: Position,
    /// How many choices led there.
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

/// Chopped states by the way that leads there; the one that was not wanted longest is the first to
/// go.
#[derive(Default)]
pub(super) struct ChopCache {
    states: BTreeMap<u128, (ChopState, u64)>,
    uses: u64,
}

impl ChopCache {
    /// Keeps a state; `choices` lead to it.
    pub fn keep(&mut self, choices: &[Choice], chopped: ChopState) {
        self.uses += 1;
        self.states.insert(PathHash::of(choices).key(chopped.place.mutates), (chopped, self.uses));
        if self.states.len() > KEPT {
            let oldest = self.states.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key);
            oldest.and_then(|key| self.states.remove(&key));
        }
    }

    /// A copy of the last chopped state on the way to `state`, if one is here.
    pub fn last_before(&mut self, state: &State, chops: &ChopPoints) -> Option<ChopState> {
        let fits = |chopped: &ChopState| {
            chopped.place.mutates <= state.depth && chopped.choices <= state.choices.len()
        };
        let places: Vec<(u32, usize)> = self
            .states
            .values()
            .filter(|(chopped, _)| fits(chopped) && chops.is_between(chopped.place.mutates))
            .map(|(chopped, _)| (chopped.place.mutates, chopped.choices))
            .sorted_unstable()
            .dedup()
            .collect();
        let most = places.iter().map(|(_, choices)| *choices).max()?;
        let mut ways = vec![PathHash::default()];
        for choice in &state.choices[..most] {
            ways.push(ways[ways.len() - 1].then(choice));
        }
        let keys = places.iter().rev().map(|(mutates, choices)| ways[*choices].key(*mutates));
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

/// A hash of choices that is made one choice after the other.
#[derive(Clone, Copy, Debug, Default)]
struct PathHash(u128);

impl PathHash {
    fn of(choices: &[Choice]) -> PathHash {
        choices.iter().fold(PathHash::default(), |way, choice| way.then(choice))
    }

    fn then(self, choice: &Choice) -> PathHash {
        let both = [self.0, choices_hash(std::slice::from_ref(choice))];
        PathHash(xxh3_128(&both.map(u128::to_le_bytes).concat()))
    }

    /// Of the state that this leads to by so many calls of mutate: some make no choices.
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

    /// Mutates and choices of the state that was found.
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
    fn what_is_not_wanted_goes_first() {
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
