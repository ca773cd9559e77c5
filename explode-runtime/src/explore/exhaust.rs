//! The default strategy: exhaust a state, then take the next from the queue (EX-2, EX-41 to EX-46).

use super::job::{following, made_in};
use super::states::StateTree;
use super::{
    Fifo, FinishedUnit, Frontier, Job, MostDifferent, Novelty, State, StateId, Strategy, Unit,
};
use crate::choose::Choice;

/// A strategy that tries every combination of choices of one mutate from a state, then continues
/// with the next state of its frontier.
#[derive(Debug)]
pub struct Exhaust {
    depth: u32,
    states: StateTree,
    frontier: Box<dyn Frontier>,
    current: Option<Current>,
}

/// The state that is being exhausted.
#[derive(Debug)]
struct Current {
    id: StateId,
    state: State,
    /// The script of the next unit.
    script: Vec<Choice>,
}

impl Current {
    fn unit(&self) -> Unit {
        Unit::one(self.state.clone(), self.script.clone())
    }
}

impl Exhaust {
    /// Returns a strategy that explores states fewer than `depth` mutates deep, breadth first.
    pub fn new(depth: u32) -> Exhaust {
        Exhaust::from_state(depth, Box::<Fifo>::default(), State::default())
    }

    /// Returns a strategy that explores states fewer than `depth` mutates deep, the most different
    /// one first.
    pub fn most_different(depth: u32) -> Exhaust {
        Exhaust::from_state(depth, Box::<MostDifferent>::default(), State::default())
    }

    /// Returns a strategy that begins with `state`. Other states wait in `frontier`.
    pub fn from_state(depth: u32, mut frontier: Box<dyn Frontier>, state: State) -> Exhaust {
        let mut states = StateTree::default();
        if state.depth < depth {
            frontier.push(states.begin(&state), None);
        }
        Exhaust { depth, states, frontier, current: None }
    }

    /// Returns the memory that the states use, in bytes: waiting states, and the records of
    /// explored ones.
    pub fn bytes(&self) -> usize {
        self.states.bytes() + self.frontier.bytes()
    }
}

impl Strategy for Exhaust {
    fn next(&mut self) -> Option<Unit> {
        if self.current.is_none() {
            let id = self.frontier.pop()?;
            self.current = Some(Current { id, state: self.states.get(id), script: Vec::new() });
        }
        self.current.as_ref().map(Current::unit)
    }

    fn wants_sketches(&self) -> bool {
        self.frontier.wants_sketches()
    }

    fn observe(&mut self, finished: &FinishedUnit<'_>) {
        let Some(mut current) = self.current.take() else { return };
        let made = made_in(finished.unit, finished.choices);
        if let Some((first, _)) = finished.arrivals.first().filter(|(first, _)| first.depth == 0) {
            self.frontier.begins(first);
        }
        if finished.reached == Novelty::New && current.state.depth + 1 < self.depth {
            let state = self.states.after(current.id, made);
            self.frontier.push(state, finished.arrivals.last().map(|(arrival, _)| arrival));
        }
        if let Some(script) = following(made) {
            current.script = script;
            self.current = Some(current);
        }
    }

    /// Returns the rest of the current state, in parts, then the waiting states.
    fn ahead(&self, most: usize) -> Vec<Job> {
        let current = self.current.iter().map(Current::unit);
        let mut jobs: Vec<Job> = current.flat_map(|unit| Job::all(unit, 0).split(most)).collect();
        let waiting = self.frontier.ahead(most.saturating_sub(jobs.len()));
        jobs.extend(
            waiting.into_iter().map(|id| Job::all(Unit::one(self.states.get(id), Vec::new()), 0)),
        );
        jobs
    }

    fn explored(&self) -> Option<u32> {
        let next = self.frontier.shortest()?;
        let current = self.current.as_ref().map(|current| current.state.depth);
        Some(current.or_else(|| next.map(|id| self.states.depth(id))).unwrap_or(self.depth))
    }

    fn waiting(&self) -> usize {
        self.frontier.len() + usize::from(self.current.is_some())
    }
}
