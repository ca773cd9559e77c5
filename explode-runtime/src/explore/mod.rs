//! Strategies: which choices to try next (`docs/reference/strategies.md`).
//!
//! A strategy hands out [`Unit`]s of work and receives the result of each. It knows nothing of
//! disks and checks; the runner of a unit knows nothing of queues. Whether a state is new is
//! decided by the run, which has the seen set.

mod dfs;
mod different;
mod exhaust;
mod frontier;
mod job;
mod name;
mod prefix;
mod sketch;
mod states;
mod unit;
mod walks;

pub use dfs::Dfs;
pub use different::MostDifferent;
pub use exhaust::Exhaust;
pub use frontier::{Fifo, Frontier};
pub use job::Job;
pub use name::StrategyName;
pub use prefix::{FromPrefix, TracePrefix};
pub use sketch::Sketch;
pub use states::StateId;
pub use unit::{State, Unit, UnitId};
pub use walks::Walks;

use serde::{Deserialize, Serialize};

use crate::choose::Choice;

/// What a call of mutate led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Novelty {
    /// A state never seen before, or only deeper than now.
    New,
    /// A state that is known.
    Known,
    /// An error: the state is not explored further (EX-47).
    Aborted,
}

/// A state on the way of a unit: the checker has begun, or a mutate has returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedState {
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
pub struct FinishedUnit<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Every choice made, those of the unit's state included.
    pub choices: &'a [Choice],
    /// The states on its way, in order, that of its beginning only if that is the first of all;
    /// each is new or known.
    pub arrivals: &'a [(ReachedState, Novelty)],
    /// What the last call of mutate led to.
    pub reached: Novelty,
}

/// Which choices to try next.
///
/// A run that is resumed repeats what stands in its journal: [`next`](Strategy::next) and
/// [`observe`](Strategy::observe) are called as before, but no unit is run. So what a strategy does
/// must depend on nothing but its seed and what it has observed.
pub trait Strategy {
    /// The next unit, or none when everything within the bounds was tried: then the run is
    /// complete.
    fn next(&mut self) -> Option<Unit>;

    /// Learns what became of the unit that [`next`](Strategy::next) returned last.
    fn observe(&mut self, finished: &FinishedUnit<'_>);

    /// What will certainly be wanted, the unit that [`next`](Strategy::next) returned last
    /// included: at most so many jobs, those that come next first as far as that is known. Other
    /// workers run them meanwhile.
    fn ahead(&self, _most: usize) -> Vec<Job> {
        Vec::new()
    }

    /// How many states wait.
    fn waiting(&self) -> usize {
        0
    }

    /// Does it go by the sketches of states? They cost a message or more.
    fn wants_sketches(&self) -> bool {
        false
    }
}
