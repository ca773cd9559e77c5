//! Writing the [`Book`] of a unit that is run ahead, while it runs.

use super::book::{Book, Entry, Request, Spot};
use crate::base::Count;
use crate::dedup::Keys;
use crate::verdict::Broken;

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
    /// It has shown a violation, of the kind of this error.
    violated: Option<u32>,
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
        let (children, left_out) = (Keys::default(), Count::default());
        let entry = Entry { key, request, broken: None, below: 0, children, left_out, fault: None };
        self.open.push(Open { entry, at_rest: false, violated: None });
    }

    /// The check could not be made.
    pub fn check_broken(&mut self, why: &Broken) {
        self.write(|open| open.entry.broken = Some(why.clone()));
    }

    /// It has shown a violation, of the kind of this error; the mutate itself has, if there is no check.
    pub fn violated(&mut self, index: u32) {
        match self.open.last_mut() {
            Some(open) => open.violated = Some(index),
            None => self.book.violated_by_mutate = Some(index),
        }
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
    pub fn followed(&mut self, left_out: &Result<Count, Broken>) {
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
        let Some(Open { entry, at_rest, violated }) = self.open.pop() else { return };
        let book = &mut self.book;
        if let Some(index) = violated.map(|index| index as usize) {
            book.violated.resize_with(book.violated.len().max(index + 1), Keys::default);
            book.violated[index].0.push(entry.key);
        } else if entry.broken.is_some() || entry.below > 0 {
            book.others.push(entry);
        } else if at_rest {
            book.at_rest.0.push(entry.key);
        } else {
            book.deepest.0.push(entry.key);
        }
    }

    /// The unit has ended like this.
    pub fn broken(&mut self, why: &Broken) {
        self.book.broken.push(why.clone());
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
