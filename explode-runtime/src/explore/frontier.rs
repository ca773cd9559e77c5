//! Where states wait until all combinations of their next mutate are tried.

use std::collections::VecDeque;
use std::fmt::Debug;

use super::{Arrival, State};

/// States that wait, in some order.
pub trait Frontier: Debug + Send {
    /// One more; `arrival` is where it was reached, none for where a search begins.
    fn push(&mut self, state: State, arrival: Option<&Arrival>);

    /// The next one, which is going to be explored.
    fn pop(&mut self) -> Option<State>;

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
    fn ahead(&self, most: usize) -> Vec<State>;

    /// The state in which the checker begins.
    fn begins(&mut self, _arrival: &Arrival) {}
}

/// The one that waits longest comes first.
#[derive(Debug, Default)]
pub struct Fifo(VecDeque<State>);

impl Frontier for Fifo {
    fn push(&mut self, state: State, _arrival: Option<&Arrival>) {
        self.0.push_back(state);
    }

    fn pop(&mut self) -> Option<State> {
        self.0.pop_front()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn ahead(&self, most: usize) -> Vec<State> {
        self.0.iter().take(most).cloned().collect()
    }
}
