//! What a new worker has to know: the checks that were made. They are read from the journal when one is needed, so that nobody but
//! the worker has them in memory.

use super::journal::{Journal, Record};
use crate::base::RunError;
use crate::dedup::Known;
use crate::worker::{Crew, StartError};

/// Where the checks that were made are remembered, besides in the worker.
#[derive(Debug)]
pub(super) enum Memory {
    /// Nowhere: no worker of this crew can be lost.
    Nowhere,
    /// Here: there is no journal, or no room for it.
    Here(Known),
    /// In the journal.
    Journal(Journal),
    /// The journal cannot be read any more, and says why.
    Lost(String),
}

impl Memory {
    /// A unit has ended; what there is of a journal of it is on disk `now`, or soon.
    ///
    /// # Errors
    /// There is no journal any more. What it had is remembered here from now on.
    pub fn add(&mut self, record: &Record, now: bool) -> Result<(), RunError> {
        let journal = match self {
            Memory::Journal(journal) => journal,
            Memory::Here(known) => {
                known.extend(&record.end.known);
                return Ok(());
            }
            Memory::Nowhere | Memory::Lost(_) => return Ok(()),
        };
        let Err(error) = journal.append(record, now) else { return Ok(()) };
        let mut known = Known::default();
        let read = journal.each(&mut |earlier| {
            known.extend(&earlier);
            Ok::<(), String>(())
        });
        known.extend(&record.end.known);
        *self = match read {
            Ok(()) => Memory::Here(known),
            Err(why) => Memory::Lost(why),
        };
        Err(error)
    }

    /// Tells a new worker.
    ///
    /// # Errors
    /// It is gone again, or the journal is.
    pub fn tell(&self, crew: &mut dyn Crew) -> Result<(), StartError> {
        match self {
            Memory::Nowhere => Ok(()),
            Memory::Here(known) => crew.know(known).map_err(StartError::Died),
            Memory::Journal(journal) => {
                journal.each(&mut |known| crew.know(&known).map_err(StartError::Died))
            }
            Memory::Lost(why) => Err(why.clone().into()),
        }
    }

    /// What was added is durable from now on, if it is anywhere.
    pub fn sync(&mut self) -> Result<(), RunError> {
        if let Memory::Journal(journal) = self { journal.sync() } else { Ok(()) }
    }
}
