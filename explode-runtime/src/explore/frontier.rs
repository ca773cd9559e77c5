//! The order in which states wait until all combinations of their next mutate are tried.

use std::collections::VecDeque;
use std::fmt::Debug;

use super::{ReachedState, StateId};

/// So many states have room at first; a long queue grows by an eighth, so that little of it is
/// empty.
const FIRST: usize = 16;

/// States that wait, in some order.
pub trait Frontier: Debug + Send {
    /// One more; `arrival` is where it was reached, none for where a search begins.
    fn push(&mut self, state: StateId, arrival: Option<&ReachedState>);

    /// The next one, which is going to be explored.
    fn pop(&mut self) -> Option<StateId>;

    /// How many there are.
    fn len(&self) -> usize;

    /// Is none there?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does it go by sketches?
    fn wants_sketches(&self) -> bool {
        false
    }

    /// States that wait, at most so many, those that come next first as far as that is known.
    fn ahead(&self, most: usize) -> Vec<StateId>;

    /// The memory that it takes, in bytes.
    fn bytes(&self) -> usize;

    /// The state in which the checker begins.
    fn begins(&mut self, _arrival: &ReachedState) {}
}

/// The one that waits longest comes first.
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

    fn ahead(&self, most: usize) -> Vec<StateId> {
        self.0.iter().take(most).copied().collect()
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<StateId>()
    }
}
