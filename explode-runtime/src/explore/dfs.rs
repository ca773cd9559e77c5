//! Depth first: a new state is explored at once, and the other choices of its parent wait.

use super::job::{following, made_in};
use super::states::StateTree;
use super::{FinishedUnit, Job, Novelty, State, StateId, Strategy, Unit};
use crate::choose::Choice;

/// A strategy that tries every combination of choices, the deepest state first.
#[derive(Debug)]
pub struct Dfs {
    depth: u32,
    states: StateTree,
    /// The states with combinations left, each with the script of the next one. The deepest state
    /// is last. There are at most `depth`.
    open: Vec<(StateId, Vec<Choice>)>,
}

impl Dfs {
    /// Returns a strategy that explores states fewer than `depth` mutates deep.
    pub fn new(depth: u32) -> Dfs {
        let mut states = StateTree::default();
        let first = (depth > 0).then(|| (states.begin(&State::default()), Vec::new()));
        Dfs { depth, states, open: first.into_iter().collect() }
    }
}

impl Strategy for Dfs {
    fn next(&mut self) -> Option<Unit> {
        let (id, script) = self.open.last()?;
        Some(Unit::one(self.states.get(*id), script.clone()))
    }

    fn observe(&mut self, finished: &FinishedUnit<'_>) {
        let Some((id, _)) = self.open.pop() else { return };
        let made = made_in(finished.unit, finished.choices);
        if let Some(script) = following(made) {
            self.open.push((id, script));
        }
        // All open states were added before this one, so later ones are no longer needed.
        self.states.forget_after(id);
        if finished.reached == Novelty::New && finished.unit.state.depth + 1 < self.depth {
            self.open.push((self.states.after(id, made), Vec::new()));
        }
    }

    fn ahead(&self, most: usize) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (id, script) in self.open.iter().rev() {
            if jobs.len() < most {
                let unit = Unit::one(self.states.get(*id), script.clone());
                jobs.extend(Job::all(unit, 0).split(most - jobs.len()));
            }
        }
        jobs
    }

    fn waiting(&self) -> usize {
        self.open.len()
    }
}
