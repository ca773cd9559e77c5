//! Strategies: which choices to try next (`docs/strategies.md`).
//!
//! A strategy hands out [`Unit`]s of work and sees what became of each. It knows nothing of disks and checks; whoever runs a
//! unit knows nothing of queues. Whether a state is new is decided by the run, which has the seen set.

mod dfs;
mod different;
mod exhaust;
mod frontier;
mod name;
mod odometer;
mod pct;
mod prefix;
mod random;
mod sketch;
mod walks;
mod weighted;

pub use dfs::Dfs;
pub use different::MostDifferent;
pub use exhaust::Exhaust;
pub use frontier::{Fifo, Frontier};
pub use name::StrategyName;
pub use pct::Pct;
pub use prefix::{FromPrefix, Prefix};
pub use random::Random;
pub use sketch::Sketch;
pub use weighted::Weighted;

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

/// A state on the way of a unit: the checker has begun, or a mutate has returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// Which state it is.
    pub signature: u128,
    /// Calls of mutate that led there.
    pub depth: u32,
    /// Choices that led there.
    pub choices: u64,
    /// What the state is like; none unless the strategy wants it, and the checker has a signature.
    pub sketch: Option<Sketch>,
    /// Which topology it has, if the checker says that of states.
    pub topology: Option<u128>,
}

/// A unit that was run.
#[derive(Debug)]
pub struct Finished<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Every choice made, those of the unit's state included.
    pub choices: &'a [Choice],
    /// The states on its way, in order, that of its beginning only if that is the first of all; each is new or known.
    pub arrivals: &'a [(Arrival, Reached)],
    /// What the last call of mutate led to.
    pub reached: Reached,
}

/// What a strategy has to hear of a unit while it runs. Both cost a message or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Points past the end of the script: [`Strategy::fallback`] answers them. Else the answer is the first option.
    pub points: bool,
    /// The sketch of each state.
    pub sketches: bool,
}

/// Which choices to try next.
///
/// A run that is resumed repeats what stands in its journal: [`next`](Strategy::next) and [`observe`](Strategy::observe) are
/// called as before, but no unit is run, and [`fallback`](Strategy::fallback) is not called. So what a strategy draws in a unit
/// must depend on nothing but its seed, how many units came before, and what it was asked in this one.
pub trait Strategy {
    /// The next unit, or none when everything within the bounds was tried: then the run is complete.
    fn next(&mut self) -> Option<Unit>;

    /// The answer to a point past the end of a unit's script.
    fn fallback(&mut self, _point: &Point<'_>) -> u32 {
        0
    }

    /// What it has to hear.
    fn wants(&self) -> Wants {
        Wants::default()
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
