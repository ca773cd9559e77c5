//! Making up the counts of a unit that was run ahead, as if it had been run now (see [`Book`](super::Book)).
//!
//! This is what an [`Examiner`](super::examine::Examiner) does, with the book in place of the checked system: the same notes, in the
//! same order, the same counts. Where the book does not say what would have happened, because the unit would have taken another
//! way with all that is known by now, there is no account, nothing was noted, and the unit is to be run.

use super::book::{Book, Entry, Index, Says, Spot};
use super::unit_end::UnitEnd;
use crate::dedup::{Keys, Notes};
use crate::trace::ErrorFound;

/// Goes through a book.
pub(super) struct Account<'a> {
    book: &'a Book,
    index: Index<'a>,
    notes: &'a mut dyn Notes,
    crash_depth: u32,
    /// The errors of the book, and of which of them the way that leads there has to be that of the first one met now.
    errors: &'a [(ErrorFound, u64)],
    exact: &'a [bool],
    /// The errors met, each with how often.
    met: Vec<(usize, u64)>,
    spot: Spot,
    end: UnitEnd,
}

/// What a unit comes to now; none if its book does not say.
pub(super) fn account(
    end: &UnitEnd,
    book: &Book,
    notes: &mut dyn Notes,
    crash_depth: u32,
    exact: &[bool],
) -> Option<UnitEnd> {
    let (met, spot) = (Vec::new(), Spot::default());
    let counts = UnitEnd::default();
    let index = book.index();
    let errors = &end.errors[..];
    let mut account = Account { book, index, notes, crash_depth, errors, exact, met, spot, end: counts };
    account.unit()?;
    let Account { met, end: counts, .. } = account;
    Some(UnitEnd {
        choices: end.choices.clone(),
        operations: end.operations,
        crash_disks: end.crash_disks.clone(),
        left_out: end.left_out.clone(),
        errors: met.into_iter().map(|(index, times)| (errors[index].0.clone(), times)).collect(),
        ..counts
    })
}

impl Account<'_> {
    fn unit(&mut self) -> Option<()> {
        let book = self.book;
        for (number, request) in book.requests.iter().enumerate() {
            self.spot = Spot { request: u32::try_from(number).ok()?, path: Keys::default() };
            let mut sound = true;
            for key in &request.keys.0 {
                if !self.notes.insert(*key) {
                    sound &= !self.notes.is_error(*key);
                    continue;
                }
                self.end.known.seen.0.push(*key);
                self.end.distinct += 1;
                self.end.checked += 1;
                if !self.check(*key, 0)? {
                    sound = false;
                    self.notes.insert_error(*key);
                    self.end.known.errors.0.push(*key);
                }
            }
            if sound != request.sound {
                return None;
            }
        }
        self.spot = Spot { request: u32::try_from(book.requests.len()).ok()?, path: Keys::default() };
        if let Some(index) = book.violated_by_mutate {
            self.violated(index as usize)?;
        }
        book.broken.iter().for_each(|why| self.end.add_broken(why.clone()));
        Some(())
    }

    /// A check, so many crashes during recovery deep. Is all well, or by design?
    fn check(&mut self, key: u128, depth: u32) -> Option<bool> {
        let below = self.crash_depth.checked_sub(depth)?;
        let says = self.index.find(key, below, self.spot.request)?;
        if matches!(says, Says::Fine) {
            return Some(true);
        }
        self.spot.path.0.push(key);
        let sound = match says {
            Says::Violated(index) => self.violated(index)?,
            Says::More(Entry { broken: Some(why), .. }) => {
                self.end.add_broken(why.clone());
                true
            }
            Says::More(entry) if below > 0 => self.follow(entry, depth)?,
            Says::More(_) | Says::Fine => true,
        };
        self.spot.path.0.pop();
        Some(sound)
    }

    /// The disks that a crash during a recovery leaves.
    fn follow(&mut self, entry: &Entry, depth: u32) -> Option<bool> {
        let mut sound = true;
        for child in &entry.children.0 {
            let further = self.crash_depth.checked_sub(depth + 1)?;
            if let Some(noted) = self.notes.insert_crash_crash(*child, further) {
                self.end.known.crash_crash.0.push(noted);
                self.end.crash_crash_disks += 1;
                sound &= self.check(*child, depth + 1)?;
            }
        }
        match &entry.fault {
            None => self.end.crash_crash_left_out += entry.left_out.0.clone(),
            Some(fault) => self.end.add_broken(fault.clone()),
        }
        Some(sound)
    }

    /// Counts a violation. Is it by design?
    fn violated(&mut self, index: usize) -> Option<bool> {
        let excluded = self.errors.get(index)?.0.by_design.is_some();
        self.end.by_design += u64::from(excluded);
        match self.met.iter_mut().find(|(met, _)| *met == index) {
            Some((_, times)) => *times += 1,
            None => {
                if self.exact.get(index) != Some(&false) && *self.book.firsts.get(index)? != self.spot {
                    return None;
                }
                self.met.push((index, 1));
            }
        }
        Some(excluded)
    }
}
