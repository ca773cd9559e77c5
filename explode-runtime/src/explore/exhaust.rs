//! The default: exhaust a state, then take the next from the queue (EX-2, EX-41 to EX-46).

use super::{Fifo, Finished, Frontier, MostDifferent, Reached, State, Strategy, Unit, Wants, odometer};
use crate::choose::Choice;

/// Tries every combination of choices of one mutate from a state, then those from the state that its frontier gives next.
#[derive(Debug)]
pub struct Exhaust {
    depth: u32,
    frontier: Box<dyn Frontier>,
    current: Option<(State, Vec<Choice>)>,
}

impl Exhaust {
    /// Explores states that are less than `depth` mutates deep, breadth first.
    pub fn new(depth: u32) -> Exhaust {
        Exhaust::from_state(depth, Box::<Fifo>::default(), State::default())
    }

    /// The same, the most different state first.
    pub fn most_different(depth: u32) -> Exhaust {
        Exhaust::from_state(depth, Box::<MostDifferent>::default(), State::default())
    }

    /// Begins with a state; the others wait in `frontier`.
    pub fn from_state(depth: u32, mut frontier: Box<dyn Frontier>, state: State) -> Exhaust {
        if state.depth < depth {
            frontier.push(state, None);
        }
        Exhaust { depth, frontier, current: None }
    }
}

impl Strategy for Exhaust {
    fn next(&mut self) -> Option<Unit> {
        if self.current.is_none() {
            self.current = Some((self.frontier.pop()?, Vec::new()));
        }
        let (state, script) = self.current.clone()?;
        Some(Unit { state, script, mutates: 1 })
    }

    fn wants(&self) -> Wants {
        Wants { sketches: self.frontier.wants_sketches(), ..Wants::default() }
    }

    fn observe(&mut self, finished: &Finished<'_>) {
        let state = &finished.unit.state;
        let depth = state.depth + 1;
        if let Some((first, _)) = finished.arrivals.first().filter(|(first, _)| first.depth == 0) {
            self.frontier.begins(first);
        }
        if finished.reached == Reached::New && depth < self.depth {
            let state = State { choices: finished.choices.to_vec(), depth };
            self.frontier.push(state, finished.arrivals.last().map(|(arrival, _)| arrival));
        }
        let made = &finished.choices[state.choices.len().min(finished.choices.len())..];
        self.current = odometer::after(made).map(|script| (state.clone(), script));
    }

    /// The states of the queue, one by one.
    fn ahead(&self, most: usize) -> Vec<Box<dyn Strategy + Send>> {
        let part = |state: State| Exhaust::from_state(state.depth + 1, Box::<Fifo>::default(), state);
        let waiting = self.frontier.ahead(most).into_iter();
        waiting.map(|state| -> Box<dyn Strategy + Send> { Box::new(part(state)) }).collect()
    }

    fn waiting(&self) -> usize {
        self.frontier.len() + usize::from(self.current.is_some())
    }
}
