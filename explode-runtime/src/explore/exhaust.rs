//! The default: exhaust a state, then take the next from the queue (EX-2, EX-41 to EX-46).

use std::collections::VecDeque;

use super::{Finished, Reached, State, Strategy, Unit, odometer};
use crate::choose::Choice;

/// Tries every combination of choices of one mutate from a state, breadth first over the states.
#[derive(Debug)]
pub struct Exhaust {
    depth: u32,
    queue: VecDeque<State>,
    current: Option<(State, Vec<Choice>)>,
}

impl Exhaust {
    /// Explores states that are less than `depth` mutates deep.
    pub fn new(depth: u32) -> Exhaust {
        Exhaust { depth, queue: VecDeque::from([State::default()]), current: None }
    }
}

impl Strategy for Exhaust {
    fn next(&mut self) -> Option<Unit> {
        if self.current.is_none() {
            let state = self.queue.pop_front().filter(|state| state.depth < self.depth)?;
            self.current = Some((state, Vec::new()));
        }
        let (state, script) = self.current.clone()?;
        Some(Unit { state, script, mutates: 1 })
    }

    fn observe(&mut self, finished: &Finished<'_>) {
        let state = &finished.unit.state;
        let depth = state.depth + 1;
        if finished.reached == Reached::New && depth < self.depth {
            self.queue.push_back(State { choices: finished.choices.to_vec(), depth });
        }
        let made = &finished.choices[state.choices.len().min(finished.choices.len())..];
        self.current = odometer::after(made).map(|script| (state.clone(), script));
    }

    /// The states of the queue, one by one.
    fn ahead(&self, most: usize) -> Vec<Box<dyn Strategy + Send>> {
        let waiting = self.queue.iter().filter(|state| state.depth < self.depth).take(most);
        let part = |state: &State| Exhaust {
            depth: state.depth + 1,
            queue: VecDeque::from([state.clone()]),
            current: None,
        };
        waiting.map(|state| -> Box<dyn Strategy + Send> { Box::new(part(state)) }).collect()
    }

    fn waiting(&self) -> usize {
        self.queue.len() + usize::from(self.current.is_some())
    }
}
