//! The log of a node: one file of records, a line of JSON each. A line that is not whole ends it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, MutexGuard};

use explode_cluster::prelude::*;
use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{
    Entry, EntryPayload, LogId, LogState, RaftLogReader, StorageError, StorageIOError, Vote,
};
use serde::{Deserialize, Serialize};

use super::Types;
use super::server::Server;

const PATH: &str = "/log";

/// A log. All its handles are alike.
#[derive(Clone)]
pub struct Log {
    host: AsyncHost<Server>,
    file: Fd,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    end: u64,
    vote: Option<Vote<u64>>,
    entries: BTreeMap<u64, Entry<Types>>,
    purged: Option<LogId<u64>>,
}

#[derive(Deserialize, Serialize)]
enum Record {
    Vote(Vote<u64>),
    Entry(Entry<Types>),
    Truncated(u64),
    Purged(LogId<u64>),
}

impl State {
    fn apply(&mut self, record: Record) {
        match record {
            Record::Vote(vote) => self.vote = Some(vote),
            Record::Entry(entry) => {
                self.entries.insert(entry.log_id.index, entry);
            }
            Record::Truncated(from) => self.entries.retain(|index, _| *index < from),
            Record::Purged(to) => {
                self.entries.retain(|index, _| *index > to.index);
                self.purged = Some(to);
            }
        }
    }
}

impl Log {
    /// Opens the log.
    pub fn open(host: AsyncHost<Server>) -> Handled<Log> {
        let files = host.files();
        let file = files.open(PATH, OpenFlags::CREATE)?;
        let bytes = files.read_file(PATH)?;
        let mut state = State::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Ok(record) = serde_json::from_slice(line) else { break };
            if !line.ends_with(b"\n") {
                break;
            }
            state.apply(record);
            state.end += line.len() as u64;
        }
        files.ftruncate(file, state.end)?;
        files.fsync(file)?;
        files.sync_dir("/")?;
        Ok(Log { host, file, state: Arc::new(Mutex::new(state)) })
    }

    /// Returns true if an entry has this value.
    pub fn has(&self, value: u64) -> bool {
        let of = |entry: &Entry<Types>| match entry.payload {
            EntryPayload::Normal(known) => known == value,
            _ => false,
        };
        self.state().entries.values().any(of)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no task panics with it")
    }

    /// Adds records, and makes them durable.
    fn add(&self, records: Vec<Record>) -> io::Result<()> {
        let files = self.host.files();
        let mut state = self.state();
        for record in records {
            let line = [&serde_json::to_vec(&record)?[..], b"\n"].concat();
            files.pwrite(self.file, state.end, &line)?;
            state.end += line.len() as u64;
            state.apply(record);
        }
        Ok(files.fdatasync(self.file)?)
    }
}

impl RaftLogReader<Types> for Log {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + Send>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry<Types>>, StorageError<u64>> {
        Ok(self.state().entries.range(range).map(|(_, entry)| entry.clone()).collect())
    }
}

impl RaftLogStorage<Types> for Log {
    type LogReader = Log;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError<u64>> {
        let state = self.state();
        let last = state.entries.values().next_back().map(|entry| entry.log_id);
        Ok(LogState { last_purged_log_id: state.purged, last_log_id: last.or(state.purged) })
    }

    async fn get_log_reader(&mut self) -> Log {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> Result<(), StorageError<u64>> {
        self.add(vec![Record::Vote(*vote)])
            .map_err(|error| StorageIOError::write_vote(&error).into())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<u64>>, StorageError<u64>> {
        Ok(self.state().vote)
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: LogFlushed<Types>,
    ) -> Result<(), StorageError<u64>>
    where
        I: IntoIterator<Item = Entry<Types>> + Send,
        I::IntoIter: Send,
    {
        callback.log_io_completed(self.add(entries.into_iter().map(Record::Entry).collect()));
        Ok(())
    }

    async fn truncate(&mut self, from: LogId<u64>) -> Result<(), StorageError<u64>> {
        self.add(vec![Record::Truncated(from.index)])
            .map_err(|error| StorageIOError::write_logs(&error).into())
    }

    async fn purge(&mut self, to: LogId<u64>) -> Result<(), StorageError<u64>> {
        self.add(vec![Record::Purged(to)])
            .map_err(|error| StorageIOError::write_logs(&error).into())
    }
}
