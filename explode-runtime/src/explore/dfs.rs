//! Depth first: a new state is explored at once, its parent's other choices wait.

use super::{Finished, Reached, State, Strategy, Unit, odometer};
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
        Some(Unit { state, script, mutates: 1 })
    }

    fn observe(&mut self, finished: &Finished<'_>) {
        let Some((state, _)) = self.open.pop() else { return };
        let depth = state.depth + 1;
        let made = &finished.choices[state.choices.len().min(finished.choices.len())..];
        if let Some(script) = odometer::after(made) {
            self.open.push((state, script));
        }
        if finished.reached == Reached::New && depth < self.depth {
            self.open.push((State { choices: finished.choices.to_vec(), depth }, Vec::new()));
        }
    }

    /// What is open above the deepest state, with all that is below it.
    fn ahead(&self, most: usize) -> Vec<Box<dyn Strategy + Send>> {
        let waiting = self.open.iter().rev().skip(1).take(most);
        let part = |open: &(State, Vec<Choice>)| Dfs { depth: self.depth, open: vec![open.clone()] };
        waiting.map(|open| -> Box<dyn Strategy + Send> { Box::new(part(open)) }).collect()
    }

    fn waiting(&self) -> usize {
        self.open.len()
    }
}
