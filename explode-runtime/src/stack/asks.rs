//! What a component asks of explode: choices (EX-11), and crash checks at this very moment (EX-66).
//!
//! A request leaves a mark in the log of events. The driver of the stack goes through the disks at
//! the mark at its next turn. So a component can ask in the middle of an operation that the checker
//! has called.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::base::Blame;
use crate::choose::{ChoicePoint, Label, choose_lent};
use crate::devices::{Devices, HostId};
use crate::events::asked;
use crate::verdict::{Broken, BrokenKind};

/// By this a component asks explode; clones ask the same. It is taken from [`Below`](super::Below),
/// and can be kept while the component is mounted.
#[derive(Clone, Default)]
pub struct Asks {
    desk: Option<Rc<Desk>>,
    component: Rc<str>,
}

/// Keeps the requests of a stack.
pub(super) struct Desk {
    devices: Devices,
    hears: Cell<Hears>,
    /// The host of the stack, where there are several.
    host: Cell<Option<HostId>>,
    /// Was there a request since the mutate began?
    asked: Cell<bool>,
    /// What must not have been asked.
    refused: RefCell<Option<Broken>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Hears {
    /// No mutate runs: a request has no effect.
    Idle,
    /// A mutate runs: its driver hears.
    Mutate,
    /// This is the stack of a crash disk: a request is refused.
    Never,
}

impl Desk {
    pub fn new(devices: &Devices) -> Rc<Desk> {
        let (devices, hears) = (Rc::clone(devices), Cell::new(Hears::Idle));
        Rc::new(Desk {
            devices,
            hears,
            host: Cell::default(),
            asked: Cell::default(),
            refused: RefCell::default(),
        })
    }

    /// A mutate begins (`on`), or has ended.
    pub fn listen(&self, on: bool) {
        if self.hears.get() != Hears::Never {
            self.hears.set(if on { Hears::Mutate } else { Hears::Idle });
        }
        if on {
            self.asked.set(false);
        }
    }

    /// Was there a request since the mutate began?
    pub fn has_asked(&self) -> bool {
        self.asked.get()
    }

    /// The stack is one of several, on this host.
    pub fn is_on(&self, host: HostId) {
        self.host.set(Some(host));
    }

    /// The stack stands on a crash disk.
    pub fn is_of_crash(&self) {
        self.hears.set(Hears::Never);
    }

    /// The first request that was refused.
    pub fn refused(&self) -> Option<Broken> {
        self.refused.borrow().clone()
    }

    /// Refuses a request.
    pub fn refuse(&self, why: Broken) {
        self.refused.borrow_mut().get_or_insert(why);
    }
}

impl Asks {
    pub(super) fn new(desk: &Rc<Desk>, component: &str) -> Asks {
        Asks { desk: Some(Rc::clone(desk)), component: component.into() }
    }

    /// Does a mutate run on this stack? Only then a request has an effect.
    pub fn are_heard(&self) -> bool {
        self.hears() == Hears::Mutate
    }

    /// Chooses one of `options` ways: 0, 1, ... `options` - 1; every one of them will be tried.
    /// Traces have the choice under `name` and the component's name.
    ///
    /// In a mutate, and while the stack starts or stops, it is one sequence with the choices of the
    /// checker and of the kernel. On the stack of a crash disk, while the first file systems are
    /// made, and while the checker looks at the system for itself, the answer is 0, and there is no
    /// choice point.
    ///
    /// # Panics
    /// If `options` is 0.
    pub fn choose(&self, options: usize, name: &str) -> usize {
        assert!(
            options > 0,
            "{} chooses '{name}' among no options: give it one at least",
            self.component
        );
        if self.hears() == Hears::Never {
            return 0;
        }
        let options = u32::try_from(options).expect("fewer than 2^32 options");
        let host = self.desk.as_ref().and_then(|desk| desk.host.get());
        let label = match host {
            Some(host) => Label::named(name).on(format_args!("{host}, {}", self.component)),
            None => Label::named(name).on(&self.component),
        };
        choose_lent(&ChoicePoint::action(options, label)) as usize
    }

    /// Asks for checks of every disk that a crash at this very moment could leave. The checker's
    /// `check` has `name` as its only argument, in epoch `now`. It is called later: when the
    /// checker asks for crash checks the next time, or when `mutate` has returned.
    ///
    /// While no mutate runs it has no effect. On the stack of a crash disk it is an error of the
    /// component.
    pub fn check_crashes_now(&self, name: &str) {
        let Some(desk) = &self.desk else { return };
        let refused = match desk.hears.get() {
            Hears::Idle => return,
            Hears::Mutate => {
                desk.asked.set(true);
                let put = desk.devices.put_mark(&asked(name));
                put.err().map(|fault| Broken::from(fault.blame(Blame::Tool).of(&self.component)))
            }
            Hears::Never => Some(BrokenKind::Component.of(format!(
                "{}: asked for crash checks ('{name}') on the stack of a crash disk; ask only \
                 where Asks::are_heard is true",
                self.component
            ))),
        };
        if let Some(why) = refused {
            desk.refuse(why);
        }
    }

    fn hears(&self) -> Hears {
        self.desk.as_ref().map_or(Hears::Idle, |desk| desk.hears.get())
    }
}

impl fmt::Debug for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asks").field("component", &self.component).finish_non_exhaustive()
    }
}
