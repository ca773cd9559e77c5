//! Writing the [`Book`] of a unit that is run ahead, while it runs.

use super::book::{Book, Entry, Outcome, Request, Spot};
use super::keys::Keys;
use crate::report::Count;

/// Writes a book.
#[derive(Debug, Default)]
pub(super) struct Pen {
    book: Book,
    /// The checks that are being made: the outermost, and those of crashes during its recovery.
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    entry: Entry,
    /// Its recovery wrote nothing.
    at_rest: bool,
}

impl Pen {
    /// A request for crash checks.
    pub fn request(&mut self) {
        self.book.requests.push(Request::default());
    }

    /// It asks for a check that is new, or was an error.
    pub fn asks(&mut self, key: u128) {
        if let Some(request) = self.book.requests.last_mut() {
            request.keys.0.push(key);
        }
    }

    /// It has ended.
    pub fn request_ended(&mut self, sound: bool) {
        if let Some(request) = self.book.requests.last_mut() {
            request.sound = sound;
        }
    }

    /// A check begins.
    pub fn begin(&mut self, key: u128) {
        let request = self.book.requests.len().saturating_sub(1) as u32;
        let (children, left_out, fault) = (Keys::default(), Count::default(), None);
        let entry = Entry { key, request, outcome: Outcome::Fine, below: 0, children, left_out, fault };
        self.open.push(Open { entry, at_rest: false });
    }

    /// The check itself has come to this.
    pub fn outcome(&mut self, outcome: Outcome) {
        self.write(|open| open.entry.outcome = outcome);
    }

    /// Its recovery wrote nothing.
    pub fn at_rest(&mut self) {
        self.write(|open| open.at_rest = true);
    }

    /// Disks of crashes during its recovery follow, so many deep.
    pub fn follow(&mut self, below: u32) {
        self.write(|open| open.entry.below = below);
    }

    /// One of them, whether it is checked or not.
    pub fn child(&mut self, key: u128) {
        self.write(|open| open.entry.children.0.push(key));
    }

    /// All of them were gone through.
    pub fn followed(&mut self, left_out: &Result<Count, String>) {
        self.write(|open| match left_out {
            Ok(left_out) => open.entry.left_out = left_out.clone(),
            Err(fault) => open.entry.fault = Some(fault.clone()),
        });
    }

    /// An error was met that is the first of its kind.
    pub fn first(&mut self) {
        let spot = self.spot();
        self.book.firsts.push(spot);
    }

    /// The check has ended.
    pub fn end(&mut self) {
        let Some(Open { entry, at_rest }) = self.open.pop() else { return };
        let Book { at_rest: resting, deepest, others, .. } = &mut self.book;
        match entry.outcome {
            Outcome::Fine if at_rest => resting.0.push(entry.key),
            Outcome::Fine if entry.below == 0 => deepest.0.push(entry.key),
            _ => others.push(entry),
        }
    }

    /// The mutate itself has seen a violation, of the kind of this error.
    pub fn violated(&mut self, index: u32) {
        self.book.violated = Some(index);
    }

    /// The unit has ended like this.
    pub fn broken(&mut self, why: &str) {
        self.book.broken.push(why.to_owned());
    }

    /// The book.
    pub fn into_book(self) -> Book {
        self.book
    }

    fn write(&mut self, write: impl FnOnce(&mut Open)) {
        if let Some(open) = self.open.last_mut() {
            write(open);
        }
    }

    fn spot(&self) -> Spot {
        let request = self.book.requests.len().saturating_sub(usize::from(!self.open.is_empty()));
        let path = self.open.iter().map(|open| open.entry.key).collect();
        Spot { request: request as u32, path: Keys(path) }
    }
}
