// SPDX-License-Identifier: GPL-2.0
//! The list of bios that are done but whose completion is held back.
//!
//! Invariants: a held bio is in the list once and has no other owner. The list uses its `bi_next`.

use core::ptr;
use kernel::prelude::*;
use kernel::sync::{new_condvar, new_spinlock, Arc, CondVar, SpinLock};

use crate::bindings::bio;

/// The bios whose completion is held back.
#[pin_data]
pub(crate) struct Held {
    #[pin]
    pub(crate) list: SpinLock<List>,
    /// Notified when a bio may have become ready.
    pub(crate) change: Pin<KBox<CondVar>>,
}

/// A list of bios in order of submission.
pub(crate) struct List {
    pub(crate) first: *mut bio,
    pub(crate) last: *mut bio,
    /// True if the thread must stop.
    pub(crate) leaving: bool,
}

// SAFETY: Only the list has the bios, and any task may complete them.
unsafe impl Send for List {}

impl List {
    /// Removes and returns the first bio that is `wanted`. `None` if there is none.
    pub(crate) fn take(&mut self, wanted: impl Fn(*const bio) -> bool) -> Option<*mut bio> {
        let (mut before, mut at) = (ptr::null_mut::<bio>(), self.first);
        while !at.is_null() {
            // SAFETY: Bios of the list are valid.
            unsafe {
                let next = (*at).bi_next;
                if wanted(at) {
                    match before.is_null() {
                        true => self.first = next,
                        false => (*before).bi_next = next,
                    }
                    if next.is_null() {
                        self.last = before;
                    }
                    (*at).bi_next = ptr::null_mut();
                    return Some(at);
                }
                (before, at) = (at, next);
            }
        }
        None
    }

    /// Returns true if the list has a bio that is `wanted`.
    pub(crate) fn has(&self, wanted: impl Fn(*const bio) -> bool) -> bool {
        let mut at = self.first;
        while !at.is_null() {
            if wanted(at) {
                return true;
            }
            // SAFETY: As above.
            at = unsafe { (*at).bi_next };
        }
        false
    }
}

impl Held {
    /// Makes an empty list.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let list = List { first: ptr::null_mut(), last: ptr::null_mut(), leaving: false };
        let change = KBox::pin_init(new_condvar!("rdd_change"), GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self { list <- new_spinlock!(list, "rdd_held"), change }),
            GFP_KERNEL,
        )
    }
}
