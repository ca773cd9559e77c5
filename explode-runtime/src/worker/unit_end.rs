//! What a unit came to.

use explode_ramdisk::Event;
use serde::{Deserialize, Serialize};

use crate::base::{Count, as_json};
use crate::choose::Choice;
use crate::dedup::Known;
use crate::trace::{ErrorFound, Way};
use crate::verdict::Broken;

/// What a unit came to, as far as it went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitEnd {
    /// Every choice made, those of its state included.
    #[serde(with = "as_json")]
    pub choices: Vec<Choice>,
    /// Calls of mutate that were explored.
    pub operations: u64,
    /// The sum over all emissions.
    #[serde(with = "as_json")]
    pub crash_disks: Count,
    /// Keys of checks that are new.
    pub distinct: u64,
    /// Checks made.
    pub checked: u64,
    /// Checks whose verdict was known from another.
    pub equivalent: u64,
    /// Checks that a stop has left.
    pub pending: u64,
    /// Disks that no sample met.
    #[serde(with = "as_json")]
    pub left_out: Count,
    /// Disks of crashes during recovery that were checked.
    pub crash_crash_disks: u64,
    /// Those that no sample met.
    #[serde(with = "as_json")]
    pub crash_crash_left_out: Count,
    /// Violations that the profile excludes.
    pub by_design: u64,
    /// It was told to stop: its counts are not those of the whole unit.
    pub stopped: bool,
    /// The first error of each signature, with how many there were.
    pub errors: Vec<(ErrorFound, u64)>,
    /// What was broken, with how often.
    pub broken: Vec<(Broken, u64)>,
    /// The checks that it made.
    pub known: Known,
    /// Every event from the pristine disks on; empty unless they are kept.
    #[serde(with = "as_json")]
    pub events: Vec<Event>,
}

impl UnitEnd {
    /// One more failure of the tool or a component.
    pub fn add_broken(&mut self, broken: Broken) {
        match self.broken.iter_mut().find(|(known, _)| *known == broken) {
            Some((_, times)) => *times += 1,
            None => self.broken.push((broken, 1)),
        }
    }
}

/// What is known of a unit before one of its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What it has come to so far.
    pub end: UnitEnd,
    /// What leads to the step.
    pub way: Way,
}
