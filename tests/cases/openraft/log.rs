//! The log of a node: one file of records, a line of JSON each. A line that is not whole ends it. The
//! vote is in a file of its own, of one sector, which a write changes as a whole.

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

const LOG: &str = "/log";
const VOTE: &str = "/vote";
/// The size of the file of the vote: a line of JSON, and spaces.
const VOTE_BYTES: usize = 256;

/// A log. All its handles are alike. Without `SYNCS_VOTES` a crash may lose the vote.
#[derive(Clone)]
pub struct Log<const SYNCS_VOTES: bool> {
    host: AsyncHost<Server<SYNCS_VOTES>>,
    file: Fd,
    vote: Fd,
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
    Entry(Entry<Types>),
    Truncated(u64),
    Purged(LogId<u64>),
}

impl State {
    fn apply(&mut self, record: Record) {
        match record {
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

impl<const SYNCS_VOTES: bool> Log<SYNCS_VOTES> {
    /// Opens the log.
    pub fn open(host: AsyncHost<Server<SYNCS_VOTES>>) -> Handled<Self> {
        let files = host.files();
        let (file, vote) =
            (files.open(LOG, OpenFlags::CREATE)?, files.open(VOTE, OpenFlags::CREATE)?);
        let bytes = files.read_file(LOG)?;
        let mut state = State::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Ok(record) = serde_json::from_slice(line) else { break };
            if !line.ends_with(b"\n") {
                break;
            }
            state.apply(record);
            state.end += line.len() as u64;
        }
        state.vote = serde_json::from_slice(&files.read_file(VOTE)?).ok();
        files.ftruncate(file, state.end)?;
        files.fsync(file)?;
        files.sync_dir("/")?;
        Ok(Log { host, file, vote, state: Arc::new(Mutex::new(state)) })
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

    fn write_vote(&self, vote: Vote<u64>) -> io::Result<()> {
        let files = self.host.files();
        let mut line = serde_json::to_vec(&vote)?;
        line.resize(VOTE_BYTES, b' ');
        files.pwrite(self.vote, 0, &line)?;
        self.state().vote = Some(vote);
        if SYNCS_VOTES {
            files.fdatasync(self.vote)?;
        }
        Ok(())
    }
}

impl<const SYNCS_VOTES: bool> RaftLogReader<Types> for Log<SYNCS_VOTES> {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + Send>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry<Types>>, StorageError<u64>> {
        Ok(self.state().entries.range(range).map(|(_, entry)| entry.clone()).collect())
    }
}

impl<const SYNCS_VOTES: bool> RaftLogStorage<Types> for Log<SYNCS_VOTES> {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError<u64>> {
        let state = self.state();
        let last = state.entries.values().next_back().map(|entry| entry.log_id);
        Ok(LogState { last_purged_log_id: state.purged, last_log_id: last.or(state.purged) })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> Result<(), StorageError<u64>> {
        self.write_vote(*vote).map_err(|error| StorageIOError::write_vote(&error).into())
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
