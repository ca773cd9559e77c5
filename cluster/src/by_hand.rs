//! Loops written by hand, which do the work of a target's walks without the engine. They are the
//! floor of `explode bench`.

use std::collections::BTreeMap;
use std::ops::Range;

use explode_runtime::plan::Registry;

/// The work of walks that a loop made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandRun {
    /// The number of steps.
    pub steps: u64,
    /// The number of crashes.
    pub crashes: u64,
    /// The number of replies to clients.
    pub replies: u64,
}

/// Makes walks by a seed and their numbers.
pub type HandLoop = fn(u64, Range<u64>) -> HandRun;

/// The loops, by the names of their targets. A registry holds them as an extension.
#[derive(Clone, Debug, Default)]
pub struct HandLoops(BTreeMap<String, HandLoop>);

impl HandLoops {
    /// Registers the loop of a target.
    pub fn register(registry: &mut Registry, target: &str, by_hand: HandLoop) {
        let mut loops = registry.extensions.get::<HandLoops>().cloned().unwrap_or_default();
        loops.0.insert(target.to_owned(), by_hand);
        registry.extensions.insert(loops);
    }

    /// Returns the loop of a target.
    pub fn of(registry: &Registry, target: &str) -> Option<HandLoop> {
        registry.extensions.get::<HandLoops>()?.0.get(target).copied()
    }
}
