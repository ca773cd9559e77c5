//! Requests of a component to explode: choices (EX-11), and crash checks in the middle of an
//! operation (EX-66).
//!
//! A request for crash checks puts a mark into the event log. The driver of the stack goes through
//! the crash disks at the mark at its next turn. So a component can make the request in the middle
//! of an operation that the checker has called.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::base::Blame;
use crate::choose::{ChoicePoint, Label, choose_lent};
use crate::devices::{Devices, HostId};
use crate::events::request_mark;
use crate::verdict::{Broken, BrokenKind};

/// The handle for the requests of a component. Clones share one stack. A component takes it from
/// [`Below`](super::Below) and can keep it while it is mounted.
#[derive(Clone, Default)]
pub struct Asks {
    desk: Option<Rc<Desk>>,
    component: Rc<str>,
}

/// The state of the requests of one stack.
pub(super) struct Desk {
    devices: Devices,
    state: Cell<RequestState>,
    /// The host of the stack. `None` unless there are several hosts.
    host: Cell<Option<HostId>>,
    /// True if there was a request for crash checks since the mutate began.
    requested: Cell<bool>,
    /// The first request that was refused.
    refused: RefCell<Option<Broken>>,
}

#[derive(Clone, Copy, PartialEq)]
enum RequestState {
    /// No mutate runs. A request has no effect.
    Idle,
    /// A mutate runs. Its driver handles requests.
    Mutate,
    /// The stack of a crash disk. A request is refused.
    Never,
}

impl Desk {
    pub fn new(devices: &Devices) -> Rc<Desk> {
        let (devices, state) = (Rc::clone(devices), Cell::new(RequestState::Idle));
        Rc::new(Desk {
            devices,
            state,
            host: Cell::default(),
            requested: Cell::default(),
            refused: RefCell::default(),
        })
    }

    /// Records the start (`on`) or the end of a mutate.
    pub fn listen(&self, on: bool) {
        if self.state.get() != RequestState::Never {
            self.state.set(if on { RequestState::Mutate } else { RequestState::Idle });
        }
        if on {
            self.requested.set(false);
        }
    }

    /// Returns true if there was a request for crash checks since the mutate began.
    pub fn has_requests(&self) -> bool {
        self.requested.get()
    }

    /// Sets the host of the stack, if there are several.
    pub fn is_on(&self, host: HostId) {
        self.host.set(Some(host));
    }

    /// Marks the stack as one on a crash disk. Requests are refused from now on.
    pub fn is_of_crash(&self) {
        self.state.set(RequestState::Never);
    }

    /// Returns the first request that was refused.
    pub fn refused(&self) -> Option<Broken> {
        self.refused.borrow().clone()
    }

    /// Records a refusal. Only the first is kept.
    pub fn refuse(&self, why: Broken) {
        self.refused.borrow_mut().get_or_insert(why);
    }
}

impl Asks {
    pub(super) fn new(desk: &Rc<Desk>, component: &str) -> Asks {
        Asks { desk: Some(Rc::clone(desk)), component: component.into() }
    }

    /// Returns true while a mutate runs on this stack. Only then does a request for crash checks
    /// have an effect.
    pub fn are_heard(&self) -> bool {
        self.state() == RequestState::Mutate
    }

    /// Chooses one of the numbers below `options`. Exhaustive strategies try each of them. Traces
    /// record the choice under `name` and the component's name.
    ///
    /// In a mutate, and while the stack starts or stops, the choice is part of one sequence with
    /// the choices of the checker and of the kernel. There is no choice point and the result is 0
    /// on the stack of a crash disk, while the first file systems are made, and while the checker
    /// examines the system on its own account.
    ///
    /// # Panics
    /// If `options` is 0.
    pub fn choose(&self, options: usize, name: &str) -> usize {
        assert!(
            options > 0,
            "{} chooses '{name}' among no options; give it at least one",
            self.component
        );
        if self.state() == RequestState::Never {
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

    /// Requests checks of every crash disk at this moment. The checker's `check` gets `name` as its
    /// only argument, in epoch `now`. It is called later: at the checker's next request for crash
    /// checks, or after `mutate` has returned.
    ///
    /// While no mutate runs, the request has no effect. On the stack of a crash disk it is an error
    /// of the component.
    pub fn check_crashes_now(&self, name: &str) {
        let Some(desk) = &self.desk else { return };
        let refused = match desk.state.get() {
            RequestState::Idle => return,
            RequestState::Mutate => {
                desk.requested.set(true);
                let put = desk.devices.put_mark(&request_mark(name));
                put.err().map(|fault| Broken::from(fault.blame(Blame::Tool).of(&self.component)))
            }
            RequestState::Never => Some(BrokenKind::Component.of(format!(
                "{}: asked for crash checks ('{name}') on the stack of a crash disk; ask only \
                 where Asks::are_heard is true",
                self.component
            ))),
        };
        if let Some(why) = refused {
            desk.refuse(why);
        }
    }

    /// Records that the component cannot do its work here, for a reason that is no error of the
    /// checked system. The mutate or the check of a crash disk is then not judged, and the reason
    /// is reported. Only the first of a stack is kept.
    pub fn refuse(&self, why: impl fmt::Display) {
        if let Some(desk) = &self.desk {
            desk.refuse(BrokenKind::Component.of(format!("{}: {why}", self.component)));
        }
    }

    fn state(&self) -> RequestState {
        self.desk.as_ref().map_or(RequestState::Idle, |desk| desk.state.get())
    }
}

impl fmt::Debug for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asks").field("component", &self.component).finish_non_exhaustive()
    }
}
