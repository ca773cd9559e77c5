//! The result of a unit: a function of the unit and of the run's options, equal in every worker,
//! except that a worker leaves out checks that it knows to be merged.

use explode_ramdisk::Event;
use serde::{Deserialize, Serialize};

use crate::base::{ExactCount, TallyGroup, as_json};
use crate::choose::Choice;
use crate::dedup::KeyList;
use crate::explore::ReachedState;
use crate::trace::{FoundError, Witness};
use crate::verdict::Broken;

/// The result of a unit, up to the point that the unit has reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitResult {
    /// Every choice made, those of its state included.
    #[serde(with = "as_json")]
    pub choices: Vec<Choice>,
    /// The segments, in order. The first ends when the checker has begun, if that is explored. Each
    /// of the others is one call of mutate, or the finish.
    pub segments: Vec<Segment>,
    /// The first error of each signature.
    pub errors: Vec<FoundError>,
    /// True if the unit had to stop early. Its counts are then not those of the whole unit.
    pub stopped: bool,
    /// True if the unit met as many states as the run may reach, and omitted the rest.
    pub is_cut: bool,
    /// Every event from the pristine disks on; empty unless events are kept.
    #[serde(with = "as_json")]
    pub events: Vec<Event>,
}

/// A part of a unit that ends at a reached state, or at the end of the unit.
///
/// A segment has every check except those that the worker knows to be merged: each check once, with
/// all that a crash during its recovery leads to. The number of a check is made from [its key and
/// the number of further crashes that are followed](crate::dedup::nested_key).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The number of choices made by its end, those of the unit's state included.
    pub choices: u64,
    /// The number of calls of mutate: 0 or 1, and for a whole walk all of it.
    pub operations: u64,
    /// The number of choices of whole walks, which the unit does not keep.
    #[serde(default)]
    pub walked: u64,
    /// The other counts of the system.
    #[serde(with = "as_json", default)]
    pub tallies: Vec<TallyGroup>,
    /// The number of crash disks of all emissions.
    #[serde(with = "as_json")]
    pub crash_disks: ExactCount,
    /// The number of disks that sampling left out.
    #[serde(with = "as_json")]
    pub left_out: ExactCount,
    /// The keys of checks that were made.
    pub checked: KeyList,
    /// The keys of checks whose verdict was known from another check.
    pub equivalent: KeyList,
    /// The keys of checks that were not made because the unit stopped.
    pub pending: KeyList,
    /// The numbers of the checks whose crashes during recovery were followed, if the unit [checks
    /// these alone](crate::explore::UnitDisks::Nested).
    pub followed: KeyList,
    /// The numbers of the checks of crashes during recovery.
    pub nested: KeyList,
    /// The number of crash-crash disks that sampling left out, by the number of the check.
    pub nested_left_out: Vec<LeftOut>,
    /// The numbers of checks that have shown an error, or from which a check that has shown one
    /// follows.
    pub unsound: KeyList,
    /// The keys of checks that have shown an error, by the index of the error.
    pub shown: Vec<(u32, KeyList)>,
    /// The indices of errors that were seen without a check.
    pub seen: Vec<u32>,
    /// The failures of the tool or a component, each with the number of times it happened.
    pub broken: Vec<(Broken, u64)>,
    /// The state at the end of the segment; `None` if the segment does not end at a state.
    pub arrival: Option<ReachedState>,
}

/// The number of crash-crash disks of a check that sampling left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The number of the check.
    pub number: u128,
    /// The number of disks.
    #[serde(with = "as_json")]
    pub count: ExactCount,
}

impl UnitResult {
    /// Adds a failure of the tool or a component.
    pub fn add_broken(&mut self, broken: Broken) {
        self.last().add_broken(broken);
    }

    /// Adds an error that was seen without a check.
    pub fn add_error(&mut self, error: FoundError) {
        let known = self.errors.iter().position(|known| known.is_like(&error.violation));
        let index = known.unwrap_or(self.errors.len());
        if index == self.errors.len() {
            self.errors.push(error);
        }
        self.last().seen.push(index as u32);
    }

    /// Returns the segment that has not ended. Begins one if necessary.
    fn last(&mut self) -> &mut Segment {
        if self.segments.last().is_none_or(|segment| segment.arrival.is_some()) {
            self.segments
                .push(Segment { choices: self.choices.len() as u64, ..Segment::default() });
        }
        self.segments.last_mut().expect("it was just pushed")
    }

    /// Returns the approximate size of the result in memory, in bytes.
    pub fn weight(&self) -> usize {
        let keys = |keys: &KeyList| keys.0.len() * size_of::<u128>();
        let of = |segment: &Segment| {
            let Segment { checked, equivalent, pending, followed, .. } = segment;
            let Segment { nested, unsound, shown, broken, .. } = segment;
            let all = [checked, equivalent, pending, followed, nested, unsound].into_iter();
            let all = all.chain(shown.iter().map(|(_, keys)| keys)).map(keys);
            size_of::<Segment>() + all.sum::<usize>() + broken.len() * 256
        };
        let segments: usize = self.segments.iter().map(of).sum();
        self.choices.len() * 128 + segments + self.errors.len() * 4096 + self.events.len() * 4096
    }
}

impl Segment {
    /// Adds a failure of the tool or a component.
    pub fn add_broken(&mut self, broken: Broken) {
        match self.broken.iter_mut().find(|(known, _)| *known == broken) {
            Some((_, times)) => *times += 1,
            None => self.broken.push((broken, 1)),
        }
    }

    /// Notes that the check of this key has shown an error.
    pub(super) fn add_shown(&mut self, error: u32, key: u128) {
        match self.shown.iter_mut().find(|(known, _)| *known == error) {
            Some((_, keys)) => keys.0.push(key),
            None => self.shown.push((error, KeyList(vec![key]))),
        }
    }
}

/// A snapshot of a unit before one of its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitSnapshot {
    /// The result so far.
    pub result: UnitResult,
    /// The choices and disks that lead to the step.
    pub way: Witness,
}
