//! Requests of kernel code and of programs for crash checks in EKM's log (EX-66): accepted, ignored
//! or rejected.

use std::cell::{Cell, RefCell};

use explode_ekm_abi::wire::ASKED_MAX;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::devices::Side;

/// The state on which the handling of a request depends.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// True while a mutate runs.
    mutate: Cell<bool>,
    /// The number of stacks on crash disks.
    crash_stacks: Cell<u32>,
    /// True if a request was accepted since the mutate began.
    accepted: Cell<bool>,
    /// The first rejected request of each side.
    live: RefCell<Option<StepError>>,
    crash: RefCell<Option<StepError>>,
}

impl Requests {
    /// Records the start of a stack of this side.
    pub fn stack_begins(&self, side: Side) {
        self.refusal(side).take();
        match side {
            Side::Live => {
                self.mutate.set(false);
                self.accepted.set(false);
            }
            Side::Crash => self.crash_stacks.set(self.crash_stacks.get() + 1),
        }
    }

    /// Records the end of a stack of this side.
    pub fn stack_ended(&self, side: Side) {
        match side {
            Side::Live => self.mutate.set(false),
            Side::Crash => self.crash_stacks.set(self.crash_stacks.get() - 1),
        }
    }

    /// Records that a mutate begins (`on`) or has ended.
    pub fn listen(&self, on: bool) {
        self.mutate.set(on);
        if on {
            self.accepted.set(false);
        }
    }

    /// Returns true if a request was accepted since the mutate began.
    pub fn has_accepted(&self) -> bool {
        self.accepted.get()
    }

    /// Returns the first rejected request of a side.
    pub fn refused(&self, side: Side) -> Option<StepError> {
        self.refusal(side).borrow().clone()
    }

    /// Handles a request for crash checks with this name. `by` describes the requester. Returns the
    /// name if the request is accepted.
    pub fn take<'n>(&self, name: &'n [u8], by: impl FnOnce() -> String) -> Option<&'n str> {
        if self.crash_stacks.get() > 0 {
            let why = "on the stack of a crash disk; ask only in operations that mutate makes, \
                       not in mount and recovery";
            self.refuse(Side::Crash, || {
                format!("{} asked for crash checks ('{}') {why}", by(), shown(name))
            });
            return None;
        }
        if !self.mutate.get() {
            return None;
        }
        let wrong = match std::str::from_utf8(name) {
            _ if name.is_empty() => "an empty name".to_owned(),
            _ if name.len() > ASKED_MAX => {
                format!(
                    "a name of more than {ASKED_MAX} bytes ('{}...')",
                    shown(&name[..ASKED_MAX])
                )
            }
            Err(_) => format!("a name that is not UTF-8 ('{}')", shown(name)),
            Ok(name) => {
                self.accepted.set(true);
                return Some(name);
            }
        };
        let names = format!("names have 1 to {ASKED_MAX} bytes, in UTF-8");
        self.refuse(Side::Live, || {
            format!("{} asked for crash checks with {wrong}; {names}", by())
        });
        None
    }

    fn refuse(&self, side: Side, why: impl FnOnce() -> String) {
        self.refusal(side)
            .borrow_mut()
            .get_or_insert_with(|| StepError::new(why()).blame(Blame::Tool));
    }

    fn refusal(&self, side: Side) -> &RefCell<Option<StepError>> {
        match side {
            Side::Live => &self.live,
            Side::Crash => &self.crash,
        }
    }
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by() -> String {
        "add [choosy]".to_owned()
    }

    #[test]
    fn a_request_is_heard_while_a_mutate_runs() {
        let requests = Requests::default();
        requests.stack_begins(Side::Live);
        assert_eq!(requests.take(b"mounting", by), None);
        requests.listen(true);
        assert!(!requests.has_accepted());
        assert_eq!(requests.take(b"half", by), Some("half"));
        assert!(requests.has_accepted());
        requests.listen(false);
        assert_eq!(requests.take(b"unmounting", by), None);
        assert!(requests.has_accepted() && requests.refused(Side::Live).is_none());
        requests.listen(true);
        assert!(!requests.has_accepted(), "the next mutate");
    }

    #[test]
    fn a_request_on_a_crash_disk_is_refused() {
        let requests = Requests::default();
        requests.listen(true);
        requests.stack_begins(Side::Crash);
        assert_eq!(requests.take(b"mounting", by), None);
        let message = requests.refused(Side::Crash).expect("it is refused").to_string();
        assert!(
            message.starts_with("add [choosy] asked for crash checks ('mounting') on the stack"),
            "{message}"
        );
        requests.stack_ended(Side::Crash);
        assert_eq!(
            (requests.take(b"half", by), requests.refused(Side::Live).is_none()),
            (Some("half"), true)
        );
        requests.stack_begins(Side::Crash);
        assert!(requests.refused(Side::Crash).is_none(), "the next crash disk");
    }

    #[test]
    fn names_are_checked() {
        let long = [b'n'; ASKED_MAX + 1];
        for (name, why) in [
            (&b""[..], "with an empty name; names have 1 to 255 bytes, in UTF-8"),
            (&long, "with a name of more than 255 bytes ('nnn"),
            (b"h\xe4lf", "with a name that is not UTF-8 ('h\u{fffd}lf'); names"),
        ] {
            let requests = Requests::default();
            requests.listen(true);
            assert_eq!(requests.take(name, by), None);
            let message = requests.refused(Side::Live).expect("it is refused").to_string();
            assert!(message.contains(why) && !requests.has_accepted(), "{message}");
        }
        let requests = Requests::default();
        requests.listen(true);
        assert!(requests.take(&long[1..], by).is_some());
    }
}
