//! Strategies: the order in which choices are tried (`docs/reference/strategies.md`).
//!
//! A strategy returns [`Unit`]s of work and receives the result of each. It does not depend on
//! disks and checks, and the runner of a unit does not depend on queues. The run decides whether a
//! state is new, because it has the seen set.

mod dfs;
mod different;
mod exhaust;
mod frontier;
mod job;
mod name;
mod prefix;
mod shuffle;
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
pub use shuffle::Shuffle;
pub use sketch::Sketch;
pub use states::StateId;
pub use unit::{State, Unit, UnitDisks, UnitId};
pub use walks::Walks;

use serde::{Deserialize, Serialize};

use crate::choose::Choice;

/// The result of a call of mutate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Novelty {
    /// A state that was never seen, or only at a greater depth.
    New,
    /// A state that is known at this depth or a smaller one.
    Known,
    /// An error. The state is not explored further (EX-47).
    Aborted,
}

/// A state on the path of a unit: the checker has begun, or a mutate has returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedState {
    /// The signature of the state.
    pub signature: u128,
    /// The number of calls of mutate that led to the state.
    pub depth: u32,
    /// The number of choices that led to the state.
    pub choices: u64,
    /// The sketch of the state. `None` unless the strategy wants sketches and the checker has a
    /// signature.
    pub sketch: Option<Sketch>,
    /// The identity of the state's topology. `None` unless the checker reports topologies.
    pub topology: Option<u128>,
}

/// A unit that has run, with its result.
#[derive(Debug)]
pub struct FinishedUnit<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Every choice that was made, including those of the unit's state.
    pub choices: &'a [Choice],
    /// The states on its path, in order, each new or known. The state at its beginning is included
    /// only if it is the first of the run.
    pub arrivals: &'a [(ReachedState, Novelty)],
    /// The result of the last call of mutate.
    pub reached: Novelty,
}

/// The order in which choices are tried.
///
/// A resumed run repeats its journal: [`next`](Strategy::next) and [`observe`](Strategy::observe)
/// are called as before, but no unit is run. So a strategy must depend only on its seed and on its
/// observations.
pub trait Strategy {
    /// Returns the next unit. `None` if everything within the bounds was tried, so the run is
    /// complete.
    fn next(&mut self) -> Option<Unit>;

    /// Receives the result of the unit that [`next`](Strategy::next) returned last.
    fn observe(&mut self, finished: &FinishedUnit<'_>);

    /// Returns at most `most` jobs that are certain to be needed, including the unit that
    /// [`next`](Strategy::next) returned last. The next ones are first, if the order is known.
    /// Other workers run them in the meantime.
    fn ahead(&self, _most: usize) -> Vec<Job> {
        Vec::new()
    }

    /// Returns the number of waiting states.
    fn waiting(&self) -> usize {
        0
    }

    /// Returns the length up to which all paths are explored, in mutates. `None` if the strategy
    /// does not take paths by their length.
    fn explored(&self) -> Option<u32> {
        None
    }

    /// Returns true if the strategy uses the sketches of states, which cost a message or more.
    fn wants_sketches(&self) -> bool {
        false
    }
}
