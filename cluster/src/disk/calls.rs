//! The calls of a handler on the files of its host: those that fail, and those that a story names.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use explode_ramdisk::Storage;
use nix::errno::Errno;

/// The calls of a handler that fail with an I/O error, among those that change or sync files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailingCalls {
    /// No call fails.
    #[default]
    Never,
    /// One call fails, after this many others.
    One(u32),
    /// All calls fail, after this many others.
    From(u32),
}

/// A call of a handler in words, for a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallNote {
    /// The events on the disk that the call has made, by their numbers since the disk was made.
    pub events: Range<u64>,
    /// The call.
    pub text: String,
}

/// The calls on the files of a host, whichever way they are made.
#[derive(Debug)]
pub struct HostCalls {
    storage: Storage,
    left: Cell<FailingCalls>,
    has_failed: Cell<bool>,
    /// The calls that need words of their own. `None` unless there is a story.
    notes: RefCell<Option<Vec<CallNote>>>,
}

impl HostCalls {
    /// Returns the calls on a disk, of which none fails.
    pub fn new(storage: Storage) -> HostCalls {
        HostCalls {
            storage,
            left: Cell::default(),
            has_failed: Cell::default(),
            notes: RefCell::default(),
        }
    }

    /// Makes calls fail from now on.
    pub fn fail(&self, calls: FailingCalls) {
        self.left.set(calls);
        self.has_failed.set(false);
    }

    /// Returns true if calls may fail.
    pub fn may_fail(&self) -> bool {
        self.left.get() != FailingCalls::Never
    }

    /// Returns true if a call has failed since [`fail`](HostCalls::fail).
    pub fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// Notes calls from now on.
    pub fn note(&self) {
        self.notes.borrow_mut().get_or_insert_default();
    }

    /// Returns true if calls are noted.
    pub fn is_noting(&self) -> bool {
        self.notes.borrow().is_some()
    }

    /// Returns the calls that were noted since the last question.
    pub fn take_notes(&self) -> Vec<CallNote> {
        self.notes.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Makes a call, and notes it by these words.
    pub fn noted<T>(&self, text: impl FnOnce() -> Option<String>, call: impl FnOnce() -> T) -> T {
        // The names of files are those before the call.
        let text = if self.is_noting() { text() } else { None };
        let begin = self.storage.logged();
        let done = call();
        if let (Some(text), Some(notes)) = (text, self.notes.borrow_mut().as_mut()) {
            notes.push(CallNote { events: begin..self.storage.logged(), text });
        }
        done
    }

    /// Returns the error of the next call that changes or syncs files. Each call asks once.
    pub fn error_of_next(&self) -> Option<Errno> {
        let next = match self.left.get() {
            FailingCalls::Never => return None,
            FailingCalls::One(0) => FailingCalls::Never,
            FailingCalls::From(0) => FailingCalls::From(0),
            FailingCalls::One(left) => return self.later(FailingCalls::One(left - 1)),
            FailingCalls::From(left) => return self.later(FailingCalls::From(left - 1)),
        };
        self.left.set(next);
        self.has_failed.set(true);
        Some(Errno::EIO)
    }

    fn later(&self, left: FailingCalls) -> Option<Errno> {
        self.left.set(left);
        None
    }
}

/// Returns a rename in words.
pub fn rename_in_words(from: &str, to: &str) -> String {
    format!("renames {from} to {to}")
}

/// Returns a sync of a file or directory in words.
pub fn sync_in_words(path: &str) -> String {
    format!("syncs {path}")
}
