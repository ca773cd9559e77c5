//! The journal of a run: the result of each unit, in the run folder, so that another process can
//! resume the run.
//!
//! `RUN/journal` is a line with the format, then records: the length (4 bytes) and the xxh3 hash (8
//! bytes) of the body, both little-endian, then the body in postcard's form. The first record
//! identifies the run. Each of the others is a unit that has ended. A choice is written once, in
//! the first record that has it, and then by number, so a record depends on those before it. A torn
//! or damaged record ends the journal. It and the records after it are cut off, and their units are
//! run again.

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
/// Format 5: the changes that a unit made to the totals, and choices by number.
const NEEDED: u32 = 5;
/// The time after which appended records are made durable with the next one.
const SYNC: Duration = Duration::from_secs(1);

/// A journal that is being written.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    /// The bytes with which the file begins.
    beginning: Vec<u8>,
    file: Option<File>,
    /// The choices of its records.
    book: ChoiceBook,
    /// The length of its sound part, in bytes.
    sound: u64,
    synced: Instant,
}

impl Journal {
    /// Creates the journal of a run folder. The file is made when there is something to write.
    pub fn of(folder: &Path, plan: &Plan, origin: &RunOrigin) -> Journal {
        let beginning = [MAGIC, &frame(&JournalHeader::of(plan, origin))].concat();
        let (path, book) = (folder.join(JOURNAL), ChoiceBook::default());
        Journal { path, beginning, file: None, book, sound: 0, synced: Instant::now() }
    }

    /// Appends a record. It is durable at once with `now`, otherwise soon. An error leaves the
    /// journal as it was or removes it, and the journal must not be used after that.
    pub fn append(&mut self, record: &UnitRecord, now: bool) -> Result<(), RunError> {
        let _span = debug_span!("journal").entered();
        let frame = frame(&WrittenUnit::of(record, &mut self.book));
        let now = now || self.synced.elapsed() >= SYNC;
        self.write(&frame, now).map_err(|error| {
            // The space is needed for findings. A failure here changes nothing, because a torn
            // record is detected when it is read.
            let _ = match self.file.take().filter(|_| self.sound > self.beginning.len() as u64) {
                Some(file) => file.set_len(self.sound),
                None => fs::remove_file(&self.path),
            };
            RunError::folder(&self.path, error)
        })
    }

    /// Makes all appended records durable.
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
