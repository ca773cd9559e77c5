//! The order of the waiting states, in which all combinations of their next mutate are tried.

use std::collections::VecDeque;
use std::fmt::Debug;

use super::{ReachedState, StateId};

/// The first size of a queue, in states. A long queue grows by an eighth, so that little of it is
/// empty.
const FIRST: usize = 16;

/// The waiting states, in some order.
pub trait Frontier: Debug + Send {
    /// Adds a state. `arrival` is the place where it was reached. `None` if a search begins with
    /// it.
    fn push(&mut self, state: StateId, arrival: Option<&ReachedState>);

    /// Removes and returns the next state, which is explored now. `None` if no state waits.
    fn pop(&mut self) -> Option<StateId>;

    /// Returns the number of waiting states.
    fn len(&self) -> usize;

    /// Returns true if no state waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the first waiting state if no other one is reached by fewer mutates, and `None` in
    /// place of it if no state waits. `None` if the order does not depend on the mutates.
    fn shortest(&self) -> Option<Option<StateId>> {
        None
    }

    /// Returns true if the order depends on sketches.
    fn wants_sketches(&self) -> bool {
        false
    }

    /// Returns at most `most` waiting states. The next ones are first, if the order is known.
    fn ahead(&self, most: usize) -> Vec<StateId>;

    /// Returns the memory that the frontier uses, in bytes.
    fn bytes(&self) -> usize;

    /// Receives the state in which the checker begins.
    fn begins(&mut self, _arrival: &ReachedState) {}
}

/// A frontier in which the state that has waited longest comes first.
#[derive(Debug, Default)]
pub struct Fifo(VecDeque<StateId>);

impl Frontier for Fifo {
    fn push(&mut self, state: StateId, _arrival: Option<&ReachedState>) {
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact((self.0.len() / 8).max(FIRST));
        }
        self.0.push_back(state);
    }

    fn pop(&mut self) -> Option<StateId> {
        self.0.pop_front()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn shortest(&self) -> Option<Option<StateId>> {
        Some(self.0.front().copied())
    }

    fn ahead(&self, most: usize) -> Vec<StateId> {
        self.0.iter().take(most).copied().collect()
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<StateId>()
    }
}
