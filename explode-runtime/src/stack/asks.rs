//! What a component asks of explode while mutates drive its stack: crash checks at this very moment (EX-66).
//!
//! A request leaves a mark in the log of events. Whoever drives the stack goes through the disks at the mark at its next turn. So a
//! component can ask in the middle of an operation that the checker has called.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::base::{Blame, Fault};
use crate::devices::Devices;
use crate::events::asked;

/// By this a component asks explode; clones ask the same. It is taken from [`Below`](super::Below), and can be kept while the component
/// is mounted.
#[derive(Clone, Default)]
pub struct Asks {
    desk: Option<Rc<Desk>>,
    component: Rc<str>,
}

/// Who hears of the requests of a stack.
pub(super) struct Desk {
    devices: Devices,
    hears: Cell<Hears>,
    /// Was there a request since the mutate began?
    asked: Cell<bool>,
    /// What must not have been asked.
    refused: RefCell<Option<Fault>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Hears {
    /// Nobody now: no mutate runs.
    Nobody,
    /// Whoever runs the mutate.
    Mutate,
    /// Nobody at all: it is the stack of a crash disk.
    Never,
}

impl Desk {
    pub fn new(devices: &Devices) -> Rc<Desk> {
        let (devices, hears) = (Rc::clone(devices), Cell::new(Hears::Nobody));
        Rc::new(Desk { devices, hears, asked: Cell::default(), refused: RefCell::default() })
    }

    /// A mutate begins (`on`), or has ended.
    pub fn hear(&self, on: bool) {
        if self.hears.get() != Hears::Never {
            self.hears.set(if on { Hears::Mutate } else { Hears::Nobody });
        }
        if on {
            self.asked.set(false);
        }
    }

    /// Was there a request since the mutate began?
    pub fn has_asked(&self) -> bool {
        self.asked.get()
    }

    /// The stack stands on a crash disk.
    pub fn is_of_crash(&self) {
        self.hears.set(Hears::Never);
    }

    /// The first request that was refused.
    pub fn refused(&self) -> Option<Fault> {
        self.refused.borrow().clone()
    }

    /// Refuses a request.
    pub fn refuse(&self, fault: Fault) {
        self.refused.borrow_mut().get_or_insert(fault);
    }
}

impl Asks {
    pub(super) fn new(desk: &Rc<Desk>, component: &str) -> Asks {
        Asks { desk: Some(Rc::clone(desk)), component: component.into() }
    }

    /// Does a mutate run on this stack? Only then may crash checks be asked for, and only then somebody hears of it.
    pub fn are_heard(&self) -> bool {
        self.hears() == Hears::Mutate
    }

    /// Asks for checks of every disk that a crash at this very moment could leave. The checker's `check` has `name` as its only argument,
    /// in epoch `now`. It is called later: when the checker asks for crash checks the next time, or when `mutate` has returned.
    ///
    /// While no mutate runs nobody hears of it. On the stack of a crash disk it is an error of the component.
    pub fn check_crashes_now(&self, name: &str) {
        let Some(desk) = &self.desk else { return };
        let refused = match desk.hears.get() {
            Hears::Nobody => return,
            Hears::Mutate => {
                desk.asked.set(true);
                desk.devices.put_mark(&asked(name)).err()
            }
            Hears::Never => Some(Fault::new(format!(
                "asked for crash checks ('{name}') on the stack of a crash disk; ask only where Asks::are_heard says so"
            ))),
        };
        if let Some(fault) = refused {
            desk.refuse(fault.blame(Blame::Tool).of(&self.component));
        }
    }

    fn hears(&self) -> Hears {
        self.desk.as_ref().map_or(Hears::Nobody, |desk| desk.hears.get())
    }
}

impl fmt::Debug for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asks").field("component", &self.component).finish_non_exhaustive()
    }
}
