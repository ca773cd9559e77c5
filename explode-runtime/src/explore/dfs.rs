//! Depth first: a new state is explored at once, its parent's other choices wait.

use super::job::{following, made_in};
use super::{Finished, Job, Reached, State, Strategy, Unit};
use crate::choose::Choice;

/// Tries every combination of choices, the deepest state first.
#[derive(Debug)]
pub struct Dfs {
    depth: u32,
    /// States with combinations left, each with the script of the next; the deepest is last.
    open: Vec<(State, Vec<Choice>)>,
}

impl Dfs {
    /// Explores states that are less than `depth` mutates deep.
    pub fn new(depth: u32) -> Dfs {
        let first = (depth > 0).then(|| (State::default(), Vec::new()));
        Dfs { depth, open: first.into_iter().collect() }
    }
}

impl Strategy for Dfs {
    fn next(&mut self) -> Option<Unit> {
        let (state, script) = self.open.last().cloned()?;
        Some(Unit::one(state, script))
    }

    fn observe(&mut self, finished: &Finished<'_>) {
        let Some((state, _)) = self.open.pop() else { return };
        let depth = state.depth + 1;
        if let Some(script) = following(made_in(finished.unit, finished.choices)) {
            self.open.push((state, script));
        }
        if finished.reached == Reached::New && depth < self.depth {
            self.open.push((State { choices: finished.choices.to_vec(), depth }, Vec::new()));
        }
    }

    fn ahead(&self, most: usize) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (state, script) in self.open.iter().rev() {
            if jobs.len() < most {
                let unit = Unit::one(state.clone(), script.clone());
                jobs.extend(Job::all(unit, 0).split(most - jobs.len()));
            }
        }
        jobs
    }

    fn waiting(&self) -> usize {
        self.open.len()
    }
}
