//! The default: exhaust a state, then take the next from the queue (EX-2, EX-41 to EX-46).

use super::job::{following, made_in};
use super::{Fifo, Finished, Frontier, Job, MostDifferent, Reached, State, Strategy, Unit};
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
        Some(Unit::one(state, script))
    }

    fn wants_sketches(&self) -> bool {
        self.frontier.wants_sketches()
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
        let script = following(made_in(finished.unit, finished.choices));
        self.current = script.map(|script| (state.clone(), script));
    }

    /// What is left of the current state, in parts; then the states that wait.
    fn ahead(&self, most: usize) -> Vec<Job> {
        let current = self.current.iter().map(|(state, script)| Unit::one(state.clone(), script.clone()));
        let mut jobs: Vec<Job> = current.flat_map(|unit| Job::all(unit, 0).split(most)).collect();
        let waiting = self.frontier.ahead(most.saturating_sub(jobs.len()));
        jobs.extend(waiting.into_iter().map(|state| Job::all(Unit::one(state, Vec::new()), 0)));
        jobs
    }

    fn waiting(&self) -> usize {
        self.frontier.len() + usize::from(self.current.is_some())
    }
}
