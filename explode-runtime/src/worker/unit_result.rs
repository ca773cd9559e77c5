//! The result of a unit: a function of the unit and of the run's options, the same from every
//! worker. But a worker leaves out checks that it knows to be merged already.

use explode_ramdisk::Event;
use serde::{Deserialize, Serialize};

use crate::base::{ExactCount, as_json};
use crate::choose::Choice;
use crate::dedup::KeyList;
use crate::explore::ReachedState;
use crate::trace::{FoundError, Witness};
use crate::verdict::Broken;

/// The result of a unit, as far as it went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitResult {
    /// Every choice made, those of its state included.
    #[serde(with = "as_json")]
    pub choices: Vec<Choice>,
    /// Its parts, in order: up to the beginning of the checker if that is explored, then one for
    /// each mutate.
    pub segments: Vec<Segment>,
    /// The first error of each signature.
    pub errors: Vec<FoundError>,
    /// It had to stop early: its counts are not those of the whole unit.
    pub stopped: bool,
    /// It met as many states as the run may reach, and did not do what follows.
    pub is_cut: bool,
    /// Every event from the pristine disks on; empty unless they are kept.
    #[serde(with = "as_json")]
    pub events: Vec<Event>,
}

/// A part of a unit that ends where a state is reached, or the unit ends.
///
/// A check is here if it is not merged, as far as the worker knows: once, with all that a crash
/// during its recovery leads to. Its number is [that of its key and of how many further crashes are
/// followed](crate::dedup::nested_key).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// How many choices were made by its end, those of the unit's state included.
    pub choices: u64,
    /// Calls of mutate: 0 or 1.
    pub operations: u64,
    /// The sum over all emissions.
    #[serde(with = "as_json")]
    pub crash_disks: ExactCount,
    /// Disks that no sample met.
    #[serde(with = "as_json")]
    pub left_out: ExactCount,
    /// The keys of checks that were made.
    pub checked: KeyList,
    /// The keys of checks whose verdict was known from another.
    pub equivalent: KeyList,
    /// The keys of checks that a stop has left.
    pub pending: KeyList,
    /// The numbers of the checks of crashes during recovery.
    pub nested: KeyList,
    /// How many disks of crashes during its recovery no sample met, by the number of a check.
    pub nested_left_out: Vec<LeftOut>,
    /// The numbers of checks that have shown an error, or after which a crash during recovery has.
    pub unsound: KeyList,
    /// The keys of checks that have shown an error, by the index of the error.
    pub shown: Vec<(u32, KeyList)>,
    /// Errors that were seen without a check, by their index.
    pub seen: Vec<u32>,
    /// What was broken, with how often.
    pub broken: Vec<(Broken, u64)>,
    /// The state that it ends with.
    pub arrival: Option<ReachedState>,
}

/// How many disks of crashes during its recovery no sample met, of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The number of the check.
    pub number: u128,
    /// How many.
    #[serde(with = "as_json")]
    pub count: ExactCount,
}

impl UnitResult {
    /// One more failure of the tool or a component.
    pub fn add_broken(&mut self, broken: Broken) {
        self.last().add_broken(broken);
    }

    /// An error that was seen without a check.
    pub fn add_error(&mut self, error: FoundError) {
        let known = self.errors.iter().position(|known| known.is_like(&error.violation));
        let index = known.unwrap_or(self.errors.len());
        if index == self.errors.len() {
            self.errors.push(error);
        }
        self.last().seen.push(index as u32);
    }

    /// The part that its last events belong to.
    fn last(&mut self) -> &mut Segment {
        if self.segments.last().is_none_or(|segment| segment.arrival.is_some()) {
            self.segments
                .push(Segment { choices: self.choices.len() as u64, ..Segment::default() });
        }
        self.segments.last_mut().expect("it was just pushed")
    }

    /// About how much memory it takes, in bytes.
    pub fn weight(&self) -> usize {
        let keys = |keys: &KeyList| keys.0.len() * size_of::<u128>();
        let of = |segment: &Segment| {
            let Segment { checked, equivalent, pending, nested, unsound, shown, broken, .. } =
                segment;
            let all = [checked, equivalent, pending, nested, unsound].into_iter();
            let all = all.chain(shown.iter().map(|(_, keys)| keys)).map(keys);
            size_of::<Segment>() + all.sum::<usize>() + broken.len() * 256
        };
        let segments: usize = self.segments.iter().map(of).sum();
        self.choices.len() * 128 + segments + self.errors.len() * 4096 + self.events.len() * 4096
    }
}

impl Segment {
    /// One more failure of the tool or a component.
    pub fn add_broken(&mut self, broken: Broken) {
        match self.broken.iter_mut().find(|(known, _)| *known == broken) {
            Some((_, times)) => *times += 1,
            None => self.broken.push((broken, 1)),
        }
    }

    /// A check of this key has shown an error.
    pub(super) fn add_shown(&mut self, error: u32, key: u128) {
        match self.shown.iter_mut().find(|(known, _)| *known == error) {
            Some((_, keys)) => keys.0.push(key),
            None => self.shown.push((error, KeyList(vec![key]))),
        }
    }
}

/// What is known of a unit before one of its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitSnapshot {
    /// Its result so far.
    pub result: UnitResult,
    /// What leads to the step.
    pub way: Witness,
}
