//! Strategies: which choices to try next.
//!
//! A strategy hands out [`Unit`]s of work and sees what became of each. It knows nothing of disks and checks; whoever runs a
//! unit knows nothing of queues. Whether a state is new is decided by the run, which has the seen set.

mod dfs;
mod exhaust;
mod odometer;
mod random;

pub use dfs::Dfs;
pub use exhaust::Exhaust;
pub use random::Random;

use serde::{Deserialize, Serialize};

use crate::choose::{Choice, Point};

/// A state: the choices that lead to it from the pristine disks (EX-51).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// All choices since the beginning.
    pub choices: Vec<Choice>,
    /// How many calls of mutate made them.
    pub depth: u32,
}

/// A unit of work: restore a state, then call mutate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Where to begin; its checks have been made.
    pub state: State,
    /// The first answers from there on.
    pub script: Vec<Choice>,
    /// How many calls of mutate.
    pub mutates: u32,
}

/// What a call of mutate led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reached {
    /// A state never seen before, or only deeper than now.
    New,
    /// A state that is known.
    Known,
    /// An error: the state is not explored further (EX-47).
    Stopped,
}

/// A unit that was run.
#[derive(Debug)]
pub struct Finished<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Every choice made, those of the unit's state included.
    pub choices: &'a [Choice],
    /// What the last call of mutate led to.
    pub reached: Reached,
}

/// Which choices to try next.
pub trait Strategy {
    /// The next unit, or none when there is nothing left to try.
    fn next(&mut self) -> Option<Unit>;

    /// The answer to a point past the end of a unit's script.
    fn fallback(&mut self, _point: &Point<'_>) -> u32 {
        0
    }

    /// Does [`fallback`](Strategy::fallback) answer anything but the first option?
    fn answers(&self) -> bool {
        false
    }

    /// Learns what became of the unit that [`next`](Strategy::next) returned last.
    fn observe(&mut self, finished: &Finished<'_>);

    /// What waits besides the unit that [`next`](Strategy::next) returned last: at most so many parts, in the order in which they
    /// will be wanted. Each hands out the units of its part in the order in which this strategy will, so that they can be run ahead.
    fn ahead(&self, _most: usize) -> Vec<Box<dyn Strategy + Send>> {
        Vec::new()
    }

    /// How many states wait.
    fn waiting(&self) -> usize {
        0
    }
}
