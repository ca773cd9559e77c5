//! The most different state first: of the waiting states, the one that is farthest from all
//! explored states (the paper's section 12 names this its biggest missed opportunity).
//!
//! The distance of a state is its distance from the nearest explored state, by [`Sketch`]. Of
//! states at one distance the one that has waited longest comes first, so without signatures the
//! order is breadth first. A new state costs a comparison of 64 bytes with each explored state. An
//! explored state costs one with each waiting state.

use std::cmp::Reverse;

use super::states::make_room;
use super::{Frontier, ReachedState, Sketch, StateId};

/// The waiting states, the most different one first.
#[derive(Debug, Default)]
pub struct MostDifferent {
    /// The waiting states in the order in which they came.
    waiting: Vec<StateId>,
    /// The sketch of each waiting state. Of a state at distance 0 its value is not used.
    sketches: Vec<Sketch>,
    /// The distance of each waiting state from the nearest explored state. 0 without a sketch.
    distances: Vec<u8>,
    explored: Vec<Sketch>,
}

/// A distance above all others, for a state that comes before any state is explored.
const FARTHEST: u8 = u8::MAX;

impl MostDifferent {
    /// Lowers the distance of each waiting state to its distance from a state that is explored now.
    fn explore(&mut self, sketch: Sketch) {
        for (distance, other) in
            self.distances.iter_mut().zip(&self.sketches).filter(|(distance, _)| **distance > 0)
        {
            *distance = (*distance).min(between(other, &sketch));
        }
        make_room(&mut self.explored, 1);
        self.explored.push(sketch);
    }
}

impl Frontier for MostDifferent {
    fn push(&mut self, state: StateId, arrival: Option<&ReachedState>) {
        let sketch = arrival.and_then(|arrival| arrival.sketch);
        let nearest =
            |sketch: Sketch| self.explored.iter().map(|other| between(other, &sketch)).min();
        let distance = sketch.map_or(0, |sketch| nearest(sketch).unwrap_or(FARTHEST));
        make_room(&mut self.waiting, 1);
        make_room(&mut self.sketches, 1);
        make_room(&mut self.distances, 1);
        self.waiting.push(state);
        self.sketches.push(sketch.unwrap_or_default());
        self.distances.push(distance);
    }

    fn pop(&mut self) -> Option<StateId> {
        let farthest = *self.distances.iter().max()?;
        let at = self.distances.iter().position(|distance| *distance == farthest)?;
        let (state, sketch) = (self.waiting.remove(at), self.sketches.remove(at));
        self.distances.remove(at);
        // A state at distance 0 has the sketch of an explored one, or has none.
        if farthest > 0 {
            self.explore(sketch);
        }
        Some(state)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn wants_sketches(&self) -> bool {
        true
    }

    fn ahead(&self, most: usize) -> Vec<StateId> {
        let mut waiting: Vec<(&u8, &StateId)> = self.distances.iter().zip(&self.waiting).collect();
        waiting.sort_by_key(|(distance, _)| Reverse(**distance));
        waiting.into_iter().take(most).map(|(_, state)| *state).collect()
    }

    fn bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<StateId>()
            + (self.sketches.capacity() + self.explored.capacity()) * size_of::<Sketch>()
            + self.distances.capacity()
    }

    fn begins(&mut self, arrival: &ReachedState) {
        if self.explored.is_empty() {
            arrival.sketch.into_iter().for_each(|sketch| self.explore(sketch));
        }
    }
}

/// Returns the distance of two sketches, at most 64.
fn between(one: &Sketch, other: &Sketch) -> u8 {
    one.distance(other) as u8
}
