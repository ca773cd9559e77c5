//! The journal of a run: the result of each unit, in the run folder, so that another process can go
//! on.
//!
//! `RUN/journal` is a line that says what it is, then records: length (4 bytes) and xxh3 hash (8
//! bytes) of what follows, both little-endian, and that in postcard's form. The first record says
//! which run it is, each other one is a unit that has ended. A choice is written once, in the first
//! record that has it, and then by number: the others go on from those before them. A record that
//! is torn or damaged ends the journal: it and what follows are cut off, and their units are run
//! again.

mod history;
mod record;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tracing::debug_span;

use super::frame::frame;
use crate::base::{RunError, durable_write, open_plain};
use crate::choose::ChoiceBook;
use crate::plan::{Plan, RunOrigin};
use crate::run::names::JOURNAL;
pub use history::{JournalError, ResumedJournal};
pub(super) use record::UnitRecord;
use record::{JournalHeader, WrittenUnit};

/// The first line: [`MAGIC_WORDS`] and the format, [`NEEDED`].
const MAGIC: &[u8] = b"explode journal 5\n";
const MAGIC_WORDS: &[u8] = b"explode journal ";
/// Format 5: what a unit has added to the totals, and choices by number.
const NEEDED: u32 = 5;
/// What was written waits for the disk no longer than this.
const SYNC: Duration = Duration::from_secs(1);

/// A journal that is being written.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    /// What it begins with, until it is there.
    beginning: Vec<u8>,
    file: Option<File>,
    /// The choices that its records have.
    book: ChoiceBook,
    /// How long its sound part is.
    sound: u64,
    synced: Instant,
}

impl Journal {
    /// One in a run folder; it is made when there is something to write.
    pub fn of(folder: &Path, plan: &Plan, origin: &RunOrigin) -> Journal {
        let beginning = [MAGIC, &frame(&JournalHeader::of(plan, origin))].concat();
        let (path, book) = (folder.join(JOURNAL), ChoiceBook::default());
        Journal { path, beginning, file: None, book, sound: 0, synced: Instant::now() }
    }

    /// Adds a record; durably if that matters, else soon. What fails leaves the journal as it was,
    /// or none at all, and is its end.
    pub fn append(&mut self, record: &UnitRecord, now: bool) -> Result<(), RunError> {
        let _span = debug_span!("journal").entered();
        let frame = frame(&WrittenUnit::of(record, &mut self.book));
        let now = now || self.synced.elapsed() >= SYNC;
        self.write(&frame, now).map_err(|error| {
            // The room is wanted for findings. That even this fails changes nothing: a torn record
            // is known when it is read.
            let _ = match self.file.take().filter(|_| self.sound > self.beginning.len() as u64) {
                Some(file) => file.set_len(self.sound),
                None => fs::remove_file(&self.path),
            };
            RunError::folder(&self.path, error)
        })
    }

    /// What was added is durable from now on.
    pub fn sync(&mut self) -> Result<(), RunError> {
        self.write(&[], true).map_err(|error| RunError::folder(&self.path, error))
    }

    fn write(&mut self, bytes: &[u8], now: bool) -> io::Result<()> {
        if self.file.is_none() {
            durable_write(&self.path, &self.beginning)?;
            self.sound = self.beginning.len() as u64;
            self.file = Some(open_plain(&self.path, File::options().append(true))?);
        }
        let file = self.file.as_mut().expect("it was just opened");
        file.write_all(bytes)?;
        if now {
            file.sync_data()?;
            self.synced = Instant::now();
        }
        self.sound += bytes.len() as u64;
        Ok(())
    }
}
