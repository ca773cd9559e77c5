//! The most different state first: of those that wait, the one that is farthest from all that were explored (the paper's
//! section 12 names this its biggest missed opportunity).
//!
//! How far a state is from the explored ones is its distance from the nearest of them, by [`Sketch`]. Of equally far ones the one
//! that waits longest comes first, so without signatures this is breadth first. A state costs a comparison of
//! 64 bytes with each explored one when it comes, and with each one that waits when it is explored.

use std::cmp::Reverse;

use super::{Arrival, Frontier, Sketch, State};

/// States that wait, the most different one first.
#[derive(Debug, Default)]
pub struct MostDifferent {
    /// In the order in which they came.
    waiting: Vec<Waiting>,
    explored: Vec<Sketch>,
}

#[derive(Debug)]
struct Waiting {
    state: State,
    sketch: Option<Sketch>,
    /// From the nearest explored state; 0 without a sketch.
    distance: u32,
}

impl MostDifferent {
    /// Every distance is at most that to a state that is explored now.
    fn explore(&mut self, sketch: Sketch) {
        for waiting in &mut self.waiting {
            let distance = waiting.sketch.map_or(0, |other| other.distance(&sketch));
            waiting.distance = waiting.distance.min(distance);
        }
        self.explored.push(sketch);
    }
}

impl Frontier for MostDifferent {
    fn push(&mut self, state: State, arrival: Option<&Arrival>) {
        let sketch = arrival.and_then(|arrival| arrival.sketch);
        let nearest = |sketch: Sketch| self.explored.iter().map(|other| other.distance(&sketch)).min();
        let distance = sketch.map_or(0, |sketch| nearest(sketch).unwrap_or(u32::MAX));
        self.waiting.push(Waiting { state, sketch, distance });
    }

    fn pop(&mut self) -> Option<State> {
        let farthest = self.waiting.iter().map(|waiting| waiting.distance).max()?;
        let at = self.waiting.iter().position(|waiting| waiting.distance == farthest)?;
        let Waiting { state, sketch, .. } = self.waiting.remove(at);
        sketch.into_iter().for_each(|sketch| self.explore(sketch));
        Some(state)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn wants_sketches(&self) -> bool {
        true
    }

    fn ahead(&self, most: usize) -> Vec<State> {
        let mut waiting: Vec<&Waiting> = self.waiting.iter().collect();
        waiting.sort_by_key(|waiting| Reverse(waiting.distance));
        waiting.into_iter().take(most).map(|waiting| waiting.state.clone()).collect()
    }

    fn begins(&mut self, arrival: &Arrival) {
        if self.explored.is_empty() {
            arrival.sketch.into_iter().for_each(|sketch| self.explore(sketch));
        }
    }
}
