//! The most different state first: of those that wait, the one that is farthest from all that were
//! explored (the paper's section 12 names this its biggest missed opportunity).
//!
//! How far a state is from the explored ones is its distance from the nearest of them, by
//! [`Sketch`]. Of equally far ones the one that waits longest comes first, so without signatures
//! this is breadth first. A state costs a comparison of 64 bytes with each explored one when it
//! comes, and with each one that waits when it is explored.

use std::cmp::Reverse;

use super::states::make_room;
use super::{Frontier, ReachedState, Sketch, StateId};

/// States that wait, the most different one first.
#[derive(Debug, Default)]
pub struct MostDifferent {
    /// In the order in which they came.
    waiting: Vec<StateId>,
    /// What each of them is like; anything at a distance of 0.
    sketches: Vec<Sketch>,
    /// How far each of them is from the nearest explored state; 0 without a sketch.
    distances: Vec<u8>,
    explored: Vec<Sketch>,
}

/// Farther than any distance: nothing was explored yet.
const FARTHEST: u8 = u8::MAX;

impl MostDifferent {
    /// Every distance is at most that to a state that is explored now.
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
        // At a distance of 0 one like it is explored already, or it has no sketch.
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

/// At most 64.
fn between(one: &Sketch, other: &Sketch) -> u8 {
    one.distance(other) as u8
}
