//! A strategy that begins with the path of a trace and explores its neighbourhood first.
//!
//! First the path itself is run, with checks. Then every state on it is exhausted, breadth first
//! with all its successors, beginning with the last state. So a difference from the path in the
//! last mutate comes before one in the mutate before it. At the end everything within the depth is
//! covered, as by [`Exhaust`].

use serde::{Deserialize, Serialize};

use super::{Exhaust, Fifo, FinishedUnit, Job, Novelty, State, Strategy, Unit};
use crate::choose::Choice;

/// The path that a trace has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracePrefix {
    /// All choices from the pristine disks on.
    pub choices: Vec<Choice>,
    /// The number of calls of mutate that made the choices.
    pub mutates: u32,
}

/// A strategy that tries every combination of choices, beginning near a trace.
#[derive(Debug)]
pub struct FromPrefix {
    depth: u32,
    /// The path of the trace. `None` after it was run.
    prefix: Option<TracePrefix>,
    /// The states on the path that are not exhausted yet, the last one at the end.
    path: Vec<State>,
    exhaust: Option<Exhaust>,
}

impl FromPrefix {
    /// Returns a strategy that explores states fewer than `depth` mutates deep.
    pub fn new(depth: u32, prefix: TracePrefix) -> FromPrefix {
        FromPrefix { depth, prefix: Some(prefix), path: Vec::new(), exhaust: None }
    }
}

impl Strategy for FromPrefix {
    fn next(&mut self) -> Option<Unit> {
        if let Some(TracePrefix { choices, mutates }) = self.prefix.clone() {
            return Some(Unit { script: choices, mutates, ..Unit::default() });
        }
        loop {
            if let Some(unit) = self.exhaust.as_mut().and_then(Exhaust::next) {
                return Some(unit);
            }
            self.exhaust =
                Some(Exhaust::from_state(self.depth, Box::<Fifo>::default(), self.path.pop()?));
        }
    }

    fn observe(&mut self, finished: &FinishedUnit<'_>) {
        if self.prefix.take().is_none() {
            self.exhaust.iter_mut().for_each(|exhaust| exhaust.observe(finished));
            return;
        }
        let state = |choices: u64, depth| State {
            choices: finished.choices[..choices as usize].to_vec(),
            depth,
        };
        // The first state is known to every unit except the first of the run, which is this one.
        let new = finished.arrivals.iter().filter(|(_, reached)| *reached == Novelty::New);
        self.path = new.map(|(arrival, _)| state(arrival.choices, arrival.depth)).collect();
    }

    /// Returns the jobs near the last states of the path first.
    fn ahead(&self, most: usize) -> Vec<Job> {
        let mut jobs = self.exhaust.as_ref().map_or_else(Vec::new, |exhaust| exhaust.ahead(most));
        let path = self.path.iter().rev().filter(|state| state.depth < self.depth);
        let path = path.map(|state| Job::all(Unit::one(state.clone(), Vec::new()), 0));
        jobs.extend(path.take(most.saturating_sub(jobs.len())));
        jobs
    }

    fn waiting(&self) -> usize {
        let prefix = usize::from(self.prefix.is_some());
        prefix + self.path.len() + self.exhaust.as_ref().map_or(0, Exhaust::waiting)
    }
}
