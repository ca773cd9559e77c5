//! Lends the sequence of choices to components (EX-11).
//!
//! A call of a component goes through the interface that it offers, so the chooser cannot be an
//! argument. Instead the driver of a unit lends its sequence for the time of a call, and the
//! component reaches it on the same thread.

use std::cell::{RefCell, RefMut};
use std::ops::Deref;

use scoped_tls_hkt::scoped_thread_local;

use super::ChoicePoint;

/// A sequence of choices that can be lent.
pub trait Lendable {
    /// Answers a point. `None` if no choice can be made there.
    fn choose(&self, point: &ChoicePoint<'_>) -> Option<u32>;
}

scoped_thread_local!(static LENT: for<'a> &'a (dyn Lendable + 'a));

/// Lends a sequence to everything that `work` runs on this thread. An inner loan hides an outer
/// one.
pub fn lend<T>(sequence: &dyn Lendable, work: impl FnOnce() -> T) -> T {
    LENT.set(sequence, work)
}

/// Answers a point from the lent sequence. The answer is 0 without a loan, or if no choice can be
/// made.
pub(crate) fn choose_lent(point: &ChoicePoint<'_>) -> u32 {
    let answer = LENT.is_set().then(|| LENT.with(|sequence| sequence.choose(point)));
    answer.flatten().unwrap_or(0)
}

/// A value that the driver of a unit and the borrower of its sequence use in turn.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(RefCell<T>);

impl<T> Shared<T> {
    /// Shares a value.
    pub fn new(value: T) -> Shared<T> {
        Shared(RefCell::new(value))
    }

    /// Borrows the value for reading.
    pub fn get(&self) -> impl Deref<Target = T> {
        self.0.borrow()
    }

    /// Borrows the value for a change.
    pub fn get_mut(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }

    /// Borrows the value for a change. `None` if it is borrowed already.
    pub fn try_mut(&self) -> Option<RefMut<'_, T>> {
        self.0.try_borrow_mut().ok()
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
