//! The places of the calls on files among the events of the log.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use explode_ramdisk::files::CallText;
use serde::{Deserialize, Serialize};

use super::call_text::text_of;
use super::logged_call::LoggedAction;

/// A call, and the events between which it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedCall {
    /// The component that made the call. `None` for the checker.
    pub by: Option<String>,
    /// The call with its arguments.
    pub call: CallText,
    /// The error in words. `None` if the call succeeded.
    pub error: Option<String>,
    /// The number of events before the call began. Marks are not counted.
    pub from: u64,
    /// The number of events before the call returned. `None` while it runs.
    pub to: Option<u64>,
}

/// The calls of a stack, with their places. Clones share them. No call is kept until
/// [`place_by`](CallTimeline::place_by) sets a count of events.
#[derive(Clone, Default)]
pub(super) struct CallTimeline(Rc<RefCell<CallTimes>>);

#[derive(Default)]
struct CallTimes {
    events: Option<Rc<dyn Fn() -> u64>>,
    calls: Vec<PlacedCall>,
}

impl fmt::Debug for CallTimeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.borrow().calls.fmt(f)
    }
}

/// A call that has begun, by its index. `None` if it is not kept.
pub(super) struct Begun(Option<usize>);

impl CallTimeline {
    /// Sets the function that returns the current number of events, and removes all calls. Both
    /// start again with each start of the stack.
    pub fn place_by(&self, events: Rc<dyn Fn() -> u64>) {
        *self.0.borrow_mut() = CallTimes { events: Some(events), calls: Vec::new() };
    }

    /// Adds a call that begins now.
    pub fn begin(&self, by: Option<&str>, action: &LoggedAction) -> Begun {
        let events = self.0.borrow().events.clone();
        let Some(events) = events else { return Begun(None) };
        let from = events();
        let calls = &mut self.0.borrow_mut().calls;
        let by = by.map(str::to_owned);
        calls.push(PlacedCall { by, call: text_of(action), error: None, from, to: None });
        Begun(Some(calls.len() - 1))
    }

    /// Sets the end of a call to now.
    pub fn end(&self, begun: Begun, error: Option<&str>) {
        let events = self.0.borrow().events.clone();
        let (Some(events), Begun(Some(index))) = (events, begun) else { return };
        let to = Some(events());
        if let Some(call) = self.0.borrow_mut().calls.get_mut(index) {
            (call.to, call.error) = (to, error.map(str::to_owned));
        }
    }

    /// Adds an action that has just ended. It began at the return of the call before it.
    pub fn note(&self, by: Option<&str>, action: &LoggedAction) {
        let began = self.0.borrow().calls.last().and_then(|call| call.to);
        let begun = self.begin(by, action);
        if let (Begun(Some(index)), Some(began)) = (&begun, began) {
            self.0.borrow_mut().calls[*index].from = began;
        }
        self.end(begun, None);
    }

    /// Returns the calls so far, in the order in which they began.
    pub fn calls(&self) -> Vec<PlacedCall> {
        self.0.borrow().calls.clone()
    }
}
