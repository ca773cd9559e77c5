//! Reads the journal of an earlier process, and continues it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::record::{JournalHeader, UnitRecord, WrittenUnit};
use super::{Journal, MAGIC, MAGIC_WORDS, NEEDED};
use crate::base::{RunError, UsageError, open_plain};
use crate::choose::ChoiceBook;
use crate::plan::{Plan, RunOrigin};
use crate::run::folder::RESUMED;
use crate::run::frame::unframe;
use crate::run::names::JOURNAL;

/// The journal of a run that an earlier process has begun.
#[derive(Clone, Debug)]
pub struct ResumedJournal {
    header: JournalHeader,
    bytes: Vec<u8>,
}

/// A journal that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read.
    #[error("{path}: {error}; name the folder of a run, with its journal")]
    Io {
        /// The path of the journal.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// The beginning of the journal is damaged.
    #[error("{path}: not the journal of a run, or damaged at its beginning; start the run again")]
    Damaged {
        /// The path of the journal.
        path: PathBuf,
    },
    /// The journal has a format that this version does not read.
    #[error(
        "{path}: format {format}, and this version of explode reads format {NEEDED}; resume it \
         with the version that wrote it, or start the run again"
    )]
    Format {
        /// The path of the journal.
        path: PathBuf,
        /// The format of the journal.
        format: u32,
    },
    /// Another version of explode wrote it.
    #[error(
        "{path}: written by explode {version}; resume it with that version, or start the run again"
    )]
    Version {
        /// The path of the journal.
        path: PathBuf,
        /// The version of explode that wrote it.
        version: String,
    },
}

impl ResumedJournal {
    /// Reads the journal of a run folder.
    ///
    /// # Errors
    /// The journal is absent, damaged at its beginning, or not of this version.
    pub fn read(folder: &Path) -> Result<ResumedJournal, JournalError> {
        let path = folder.join(JOURNAL);
        let mut bytes = Vec::new();
        let opened = open_plain(&path, File::options().read(true));
        match opened.and_then(|mut file| file.read_to_end(&mut bytes)) {
            Ok(_) => ResumedJournal::parse(bytes, path),
            Err(error) => Err(JournalError::Io { path, error }),
        }
    }

    /// Reads the bytes of a journal at `path`.
    ///
    /// # Errors
    /// As [`ResumedJournal::read`].
    pub fn parse(bytes: Vec<u8>, path: PathBuf) -> Result<ResumedJournal, JournalError> {
        let header = bytes.strip_prefix(MAGIC).and_then(|rest| unframe::<JournalHeader>(rest));
        let Some((header, _)) = header else {
            return Err(match format_of(&bytes) {
                Some(format) if format != NEEDED => JournalError::Format { path, format },
                _ => JournalError::Damaged { path },
            });
        };
        if header.explode != env!("CARGO_PKG_VERSION") {
            return Err(JournalError::Version { path, version: header.explode });
        }
        Ok(ResumedJournal { header, bytes })
    }

    /// Returns the plan of the run.
    pub fn plan(&self) -> &Plan {
        &self.header.plan
    }

    /// Returns an error if the run begins with another origin than the journal.
    pub(in crate::run) fn fits(&self, origin: &RunOrigin) -> Result<(), UsageError> {
        if self.header.origin == *origin {
            return Ok(());
        }
        let changes = self.header.origin.changes(origin).join("; ");
        Err(UsageError(format!("the run cannot be resumed: {changes}; start it again")))
    }

    /// Passes each record to `visit`, cuts off what is torn, and opens the journal to append to it.
    pub(in crate::run) fn go_on(
        &self,
        folder: &Path,
        visit: impl FnMut(UnitRecord) -> Result<(), UsageError>,
    ) -> Result<Journal, RunError> {
        let (sound, book) = self.each(visit)?;
        let path = folder.join(JOURNAL);
        let failed = |error| RunError::unwritable(&path, error, RESUMED);
        let file = open_plain(&path, File::options().append(true)).map_err(failed)?;
        file.set_len(sound as u64).map_err(failed)?;
        let (sound, synced) = (sound as u64, Instant::now());
        Ok(Journal { path, beginning: Vec::new(), file: Some(file), book, sound, synced })
    }

    /// Passes each record to `visit`. Returns the number of sound bytes, and the choices of their
    /// records.
    pub(super) fn each<E>(
        &self,
        mut visit: impl FnMut(UnitRecord) -> Result<(), E>,
    ) -> Result<(usize, ChoiceBook), E> {
        let mut book = ChoiceBook::default();
        let mut rest = &self.bytes[MAGIC.len()..];
        if let Some((_, more)) = unframe::<JournalHeader>(rest) {
            rest = more;
        }
        while let Some((written, more)) = unframe::<WrittenUnit<UnitRecord>>(rest) {
            let Some(record) = written.read(&mut book) else { break };
            visit(record)?;
            rest = more;
        }
        Ok((self.bytes.len() - rest.len(), book))
    }
}

/// Returns the format that the first line of a journal names; `None` if it is not a journal.
fn format_of(bytes: &[u8]) -> Option<u32> {
    let line = bytes.strip_prefix(MAGIC_WORDS)?.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.parse().ok()
}
