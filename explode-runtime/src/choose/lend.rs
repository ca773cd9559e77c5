//! Lends the sequence of choices to components (EX-11).
//!
//! A component is called through the surface that it offers, so a chooser cannot be an argument of
//! the call. The driver of a unit lends its sequence for the time of a call instead; a component
//! asks for it on the same thread.

use std::cell::{RefCell, RefMut};
use std::ops::Deref;

use scoped_tls_hkt::scoped_thread_local;

use super::ChoicePoint;

/// A sequence of choices that can be lent.
pub trait Lendable {
    /// Answers a point; `None` where no choice can be made.
    fn choose(&self, point: &ChoicePoint<'_>) -> Option<u32>;
}

scoped_thread_local!(static LENT: for<'a> &'a (dyn Lendable + 'a));

/// Lends a sequence to all that runs in `work` on this thread. A later loan hides an earlier one.
pub fn lend<T>(sequence: &dyn Lendable, work: impl FnOnce() -> T) -> T {
    LENT.set(sequence, work)
}

/// Answers a point from the sequence that is lent. Without one, or where no choice can be made, the
/// answer is the first option.
pub(crate) fn choose_lent(point: &ChoicePoint<'_>) -> u32 {
    let answer = LENT.is_set().then(|| LENT.with(|sequence| sequence.choose(point)));
    answer.flatten().unwrap_or(0)
}

/// Something that the driver of a unit and the one to whom it is lent both use, one after the
/// other.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(RefCell<T>);

impl<T> Shared<T> {
    /// Shares a value.
    pub fn new(value: T) -> Shared<T> {
        Shared(RefCell::new(value))
    }

    /// Looks at the value.
    pub fn get(&self) -> impl Deref<Target = T> {
        self.0.borrow()
    }

    /// Changes the value.
    pub fn get_mut(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }

    /// Changes the value, if no other part of the program looks at it now.
    pub fn try_mut(&self) -> Option<RefMut<'_, T>> {
        self.0.try_borrow_mut().ok()
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
