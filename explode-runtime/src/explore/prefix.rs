//! Begins with the way of a trace: what is near it is tried first.
//!
//! First the way itself is gone, with checks. Then every state on it is exhausted, breadth first
//! with all that follows, the last one first: so what differs from the way in its last mutate comes
//! before what differs in the one before, and at the end all is covered within the depth, as by
//! [`Exhaust`].

use serde::{Deserialize, Serialize};

use super::{Exhaust, Fifo, FinishedUnit, Job, Novelty, State, Strategy, Unit};
use crate::choose::Choice;

/// The way that a trace has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracePrefix {
    /// All choices since the beginning.
    pub choices: Vec<Choice>,
    /// How many calls of mutate they belong to.
    pub mutates: u32,
}

/// Tries every combination of choices, beginning near a trace.
#[derive(Debug)]
pub struct FromPrefix {
    depth: u32,
    /// The way, until it was gone.
    way: Option<TracePrefix>,
    /// Its states, the last one last.
    path: Vec<State>,
    here: Option<Exhaust>,
}

impl FromPrefix {
    /// Explores states that are less than `depth` mutates deep.
    pub fn new(depth: u32, way: TracePrefix) -> FromPrefix {
        FromPrefix { depth, way: Some(way), path: Vec::new(), here: None }
    }
}

impl Strategy for FromPrefix {
    fn next(&mut self) -> Option<Unit> {
        if let Some(TracePrefix { choices, mutates }) = self.way.clone() {
            return Some(Unit { script: choices, mutates, ..Unit::default() });
        }
        loop {
            if let Some(unit) = self.here.as_mut().and_then(Exhaust::next) {
                return Some(unit);
            }
            self.here =
                Some(Exhaust::from_state(self.depth, Box::<Fifo>::default(), self.path.pop()?));
        }
    }

    fn observe(&mut self, finished: &FinishedUnit<'_>) {
        if self.way.take().is_none() {
            self.here.iter_mut().for_each(|here| here.observe(finished));
            return;
        }
        let state = |choices: u64, depth| State {
            choices: finished.choices[..choices as usize].to_vec(),
            depth,
        };
        // The state where all begins is known to every unit but the first, which this is.
        let new = finished.arrivals.iter().filter(|(_, reached)| *reached == Novelty::New);
        self.path = new.map(|(arrival, _)| state(arrival.choices, arrival.depth)).collect();
    }

    /// What is near the last states of the way comes first.
    fn ahead(&self, most: usize) -> Vec<Job> {
        let mut jobs = self.here.as_ref().map_or_else(Vec::new, |here| here.ahead(most));
        let path = self.path.iter().rev().filter(|state| state.depth < self.depth);
        let path = path.map(|state| Job::all(Unit::one(state.clone(), Vec::new()), 0));
        jobs.extend(path.take(most.saturating_sub(jobs.len())));
        jobs
    }

    fn waiting(&self) -> usize {
        let way = usize::from(self.way.is_some());
        way + self.path.len() + self.here.as_ref().map_or(0, Exhaust::waiting)
    }
}
