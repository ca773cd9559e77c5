//! The checks that a worker remembers: those that are merged, and the results of the others.
//!
//! The verdict of a check is a function of its key, so a remembered check is not made again. A
//! merged check is left out of results. Any other check is in the result of each unit that asks for
//! it, with its whole result, because the units may be merged in another order than they were run.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::unit_result::{LeftOut, Segment};
use crate::base::ExactCount;
use crate::dedup::{KeyHasherBuilder, KnownChecks, SeenChecks, nested_key};
use crate::explore::UnitDisks;
use crate::judge::DiskName;
use crate::trace::FoundError;
use crate::verdict::{StepName, Violation};

/// The checks that a worker remembers.
#[derive(Debug)]
pub(super) struct Memo {
    /// The number of crashes during recovery that are followed.
    depth: u32,
    /// The disks that the unit checks.
    disks: UnitDisks,
    merged: SeenChecks,
    /// The results of the checks that are not merged, by the number of the check.
    own: HashMap<u128, OwnMemo, KeyHasherBuilder>,
    /// The checks that the last unit has put into its result.
    last: KnownChecks,
}

/// The result of a check that is not merged.
#[derive(Clone, Debug)]
pub(super) enum OwnMemo {
    /// The check is sound, and no check follows from it.
    Plain(MemoSource),
    /// Any other result.
    More(Rc<MemoEntry>),
}

/// The source of a check's verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MemoSource {
    #[default]
    Checked,
    Equivalent,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoEntry {
    pub key: u128,
    pub how: MemoSource,
    /// The violation that the check itself has shown.
    pub shows: Option<Rc<Shown>>,
    /// The numbers of the checks of crashes during its recovery.
    pub nested: Vec<u128>,
    pub left_out: ExactCount,
    /// True if the check, or one that follows from it, has shown a violation that is not by design.
    pub is_unsound: bool,
    /// The first violation of each signature that the check or one that follows from it has shown,
    /// with the disks that lead there from this check.
    pub firsts: Vec<(Rc<Shown>, Vec<DiskName>)>,
}

/// A violation that a check has shown.
#[derive(Debug)]
pub(super) struct Shown {
    pub violation: Violation,
    pub by_design: Option<String>,
    pub died: Option<StepName>,
}

/// A check as the memo has it.
#[derive(Clone, Debug)]
pub(super) enum Recalled {
    /// The check is merged. True if it is unsound.
    Merged(bool),
    /// The check is not merged.
    Own(OwnMemo),
}

impl Recalled {
    pub fn is_unsound(&self) -> bool {
        match self {
            Recalled::Merged(unsound) => *unsound,
            Recalled::Own(OwnMemo::Plain(_)) => false,
            Recalled::Own(OwnMemo::More(entry)) => entry.is_unsound,
        }
    }

    /// Returns the first violation of each signature; empty if the check is merged.
    pub fn firsts(&self) -> &[(Rc<Shown>, Vec<DiskName>)] {
        match self {
            Recalled::Own(OwnMemo::More(entry)) => &entry.firsts,
            _ => &[],
        }
    }
}

impl MemoEntry {
    /// Adds a violation that was met over these disks, unless one of its signature is present.
    pub fn add_first(&mut self, shown: &Rc<Shown>, path: &[DiskName]) {
        let is_like = |(known, _): &(Rc<Shown>, Vec<DiskName>)| known.is_like(shown);
        if !self.firsts.iter().any(is_like) {
            self.firsts.push((Rc::clone(shown), path.to_vec()));
        }
    }
}

impl Shown {
    /// Returns true if both violations have one signature.
    pub fn is_like(&self, other: &Shown) -> bool {
        (self.violation.verdict, &self.violation.promise)
            == (other.violation.verdict, &other.violation.promise)
    }
}

impl Memo {
    /// Creates an empty memo. `depth` is the number of crashes during recovery that are followed.
    pub fn new(depth: u32) -> Memo {
        Memo {
            depth,
            disks: UnitDisks::All,
            merged: SeenChecks::default(),
            own: HashMap::default(),
            last: KnownChecks::default(),
        }
    }

    /// Adds merged checks and forgets their results.
    pub fn learn(&mut self, known: &KnownChecks) {
        self.merged.learn(known);
        if !self.own.is_empty() {
            for key in &known.seen.0 {
                self.own.remove(&self.seen_number(*key));
            }
            let numbers = known.crash_crash.0.iter().chain(&known.followed.0);
            numbers.for_each(|number| _ = self.own.remove(number));
        }
    }

    /// Begins a unit. If the last one `counts`, its whole result is merged.
    pub fn begin(&mut self, disks: UnitDisks, counts: bool) {
        let last = std::mem::take(&mut self.last);
        if counts {
            self.learn(&last);
        }
        self.disks = disks;
    }

    /// Returns the number of crashes during recovery that are followed from a crash disk.
    pub fn crash_depth(&self) -> u32 {
        if self.disks == UnitDisks::Outermost { 0 } else { self.depth }
    }

    /// Returns the number of the check of a crash disk.
    pub fn number(&self, key: u128) -> u128 {
        if self.disks == UnitDisks::Nested {
            nested_key(key, self.depth)
        } else {
            self.seen_number(key)
        }
    }

    /// Returns the number of the check of a crash disk that counts as seen. Without its crashes
    /// during recovery the check has a number of its own: a check of the same disk after a crash
    /// during recovery does not stand for it, because a worker may make that one earlier or later.
    fn seen_number(&self, key: u128) -> u128 {
        let further = if self.disks == UnitDisks::All { self.depth } else { self.depth + 1 };
        nested_key(key, further)
    }

    /// Ends a unit that has put these checks into its result.
    pub fn end(&mut self, put: MemoPut) {
        self.last = put.known;
    }

    /// Returns the remembered check of a crash disk.
    pub fn disk(&self, key: u128) -> Option<Recalled> {
        let number = self.number(key);
        let is_merged = match self.disks {
            UnitDisks::All | UnitDisks::Outermost => self.merged.has(key),
            // No crash during recovery is followed from a disk that has shown an error.
            UnitDisks::Nested if self.merged.is_error(nested_key(key, 0)) => {
                return Some(Recalled::Merged(true));
            }
            UnitDisks::Nested => self.merged.has_followed(number),
        };
        if is_merged {
            return Some(Recalled::Merged(self.merged.is_error(number)));
        }
        self.own.get(&number).cloned().map(Recalled::Own)
    }

    /// Returns the remembered check of a disk that a crash during recovery leaves. From this disk,
    /// `further` more crashes are followed.
    pub fn nested(&self, key: u128, further: u32) -> Option<Recalled> {
        let number = nested_key(key, further);
        if self.merged.has_crash_crash(number) {
            return Some(Recalled::Merged(self.merged.is_error(number)));
        }
        if let Some(own) = self.own.get(&number) {
            return Some(Recalled::Own(own.clone()));
        }
        // If no further crash is followed, the check of the crash disk holds the whole result.
        if further > 0 {
            return None;
        }
        if self.merged.has(key) {
            return Some(Recalled::Merged(self.merged.is_error(number)));
        }
        let own =
            self.own.get(&self.number(key)).or_else(|| self.own.get(&self.seen_number(key)))?;
        Some(Recalled::Own(own.alone()))
    }

    /// Remembers the check of this number.
    pub fn remember(&mut self, number: u128, entry: MemoEntry) {
        let plain = entry.shows.is_none() && entry.nested.is_empty() && entry.left_out.is_zero();
        let own = if plain { OwnMemo::Plain(entry.how) } else { OwnMemo::More(Rc::new(entry)) };
        self.own.insert(number, own);
    }

    /// Puts the check of a crash disk into a result, with all that follows from it. `errors` are
    /// the errors of that result.
    pub fn put_disk(
        &self,
        key: u128,
        put: &mut MemoPut,
        errors: &[FoundError],
        into: &mut Segment,
    ) {
        let number = self.number(key);
        if !put.disks.insert(number) {
            return;
        }
        let own = self.own.get(&number);
        let how = own.map(OwnMemo::how).unwrap_or_default();
        if self.disks == UnitDisks::Nested {
            put.known.followed.0.push(number);
            into.followed.0.push(number);
        } else {
            put.known.seen.0.push(key);
            match how {
                MemoSource::Equivalent => into.equivalent.0.push(key),
                MemoSource::Checked => into.checked.0.push(key),
            }
        }
        if let Some(OwnMemo::More(entry)) = own {
            self.put_entry(number, entry, put, errors, into);
        }
    }

    fn put_nested(
        &self,
        number: u128,
        put: &mut MemoPut,
        errors: &[FoundError],
        into: &mut Segment,
    ) {
        if self.merged.has_crash_crash(number) || !put.nested.insert(number) {
            return;
        }
        put.known.crash_crash.0.push(number);
        into.nested.0.push(number);
        match self.own.get(&number) {
            Some(OwnMemo::More(entry)) => self.put_entry(number, entry, put, errors, into),
            Some(OwnMemo::Plain(_)) => {}
            // The check of a crash disk holds the result. The number is its key.
            None => {
                let [own, seen] = [self.number(number), self.seen_number(number)]
                    .map(|number| self.own.get(&number));
                if let Some(OwnMemo::More(entry)) = own.or(seen) {
                    put_shown(entry, put, errors, into);
                }
            }
        }
    }

    fn put_entry(
        &self,
        number: u128,
        entry: &MemoEntry,
        put: &mut MemoPut,
        errors: &[FoundError],
        into: &mut Segment,
    ) {
        if entry.is_unsound {
            put.unsound(number, into);
        }
        if !entry.left_out.is_zero() {
            into.nested_left_out.push(LeftOut { number, count: entry.left_out.clone() });
        }
        put_shown(entry, put, errors, into);
        entry.nested.iter().for_each(|nested| self.put_nested(*nested, put, errors, into));
    }
}

fn put_shown(entry: &MemoEntry, put: &mut MemoPut, errors: &[FoundError], into: &mut Segment) {
    let Some(shown) = &entry.shows else { return };
    if shown.by_design.is_none() {
        put.unsound(nested_key(entry.key, 0), into);
    }
    if let Some(index) = errors.iter().position(|error| error.is_like(&shown.violation)) {
        into.add_shown(index as u32, entry.key);
    }
}

impl OwnMemo {
    fn how(&self) -> MemoSource {
        match self {
            OwnMemo::Plain(how) => *how,
            OwnMemo::More(entry) => entry.how,
        }
    }

    /// Returns the result without the checks that follow from it.
    fn alone(&self) -> OwnMemo {
        let OwnMemo::More(entry) = self else { return self.clone() };
        let Some(shown) = &entry.shows else { return OwnMemo::Plain(entry.how) };
        OwnMemo::More(Rc::new(MemoEntry {
            key: entry.key,
            how: entry.how,
            shows: Some(Rc::clone(shown)),
            is_unsound: shown.by_design.is_none(),
            firsts: vec![(Rc::clone(shown), Vec::new())],
            ..MemoEntry::default()
        }))
    }
}

/// The checks that a unit has put into its result.
#[derive(Debug, Default)]
pub(super) struct MemoPut {
    disks: HashSet<u128, KeyHasherBuilder>,
    nested: HashSet<u128, KeyHasherBuilder>,
    unsound: HashSet<u128, KeyHasherBuilder>,
    known: KnownChecks,
}

impl MemoPut {
    fn unsound(&mut self, number: u128, into: &mut Segment) {
        if self.unsound.insert(number) {
            self.known.errors.0.push(number);
            into.unsound.0.push(number);
        }
    }
}
