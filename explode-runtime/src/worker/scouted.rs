//! What a unit that was run ahead came to, and what that depends on.

use serde::{Deserialize, Serialize};

use super::account::account;
use super::answers::Answers;
use super::book::Book;
use super::unit_end::UnitEnd;
use crate::dedup::Notes;

/// A unit that was run ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scouted {
    /// What it came to; without keys, which are in its grounds.
    pub end: UnitEnd,
    /// What that depends on.
    pub grounds: Grounds,
}

/// What that which a unit came to depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grounds {
    /// Every check was made: what each came to. The end is as if all that was met had been new.
    Book(Book),
    /// Checks were skipped: the end holds as long as these answers do.
    Answers(Answers),
}

impl Default for Grounds {
    fn default() -> Grounds {
        Grounds::Book(Book::default())
    }
}

impl Scouted {
    /// Is it worth anything later? Not if it was told to stop; nor, where checks were skipped, if anything was broken.
    pub fn is_usable(&self) -> bool {
        let Scouted { end, grounds } = self;
        !end.stopped && (matches!(grounds, Grounds::Book(_)) || end.broken.is_empty())
    }

    /// Did it check nothing, and find nothing? Then what the unit comes to does not depend on what is known.
    pub fn depends_on_nothing(&self) -> bool {
        match &self.grounds {
            Grounds::Book(book) => book.is_empty(),
            Grounds::Answers(answers) => answers.is_empty(),
        }
    }

    /// What the unit comes to now, noted; none if it has to be run. The way to those errors that need not be `exact` may be another.
    pub(super) fn make_up(&self, notes: &mut dyn Notes, crash_depth: u32, exact: &[bool]) -> Option<UnitEnd> {
        match &self.grounds {
            Grounds::Book(book) => account(&self.end, book, notes, crash_depth, exact),
            Grounds::Answers(answers) => {
                let known = answers.hold(notes)?;
                Some(UnitEnd { known, ..self.end.clone() })
            }
        }
    }

    /// About how much memory its grounds take, in bytes.
    pub fn weight(&self) -> usize {
        match &self.grounds {
            Grounds::Book(book) => book.weight(),
            Grounds::Answers(answers) => answers.weight(),
        }
    }
}
