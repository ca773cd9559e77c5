//! The log of a Raft node: one file of records. A record that a crash has torn ends the log.

use std::rc::Rc;

use explode_cluster::prelude::*;
use protobuf::Message as _;
use raft::eraftpb::{Entry, HardState};
use xxhash_rust::xxh3::xxh3_64;

/// The bytes of a record before its contents: length, hash, kind.
const HEAD: usize = 13;
const HARD_STATE: u8 = 0;
const ENTRY: u8 = 1;
const PATH: &str = "/log";

/// An open log.
pub struct Log {
    files: Rc<dyn Files>,
    file: Fd,
    end: u64,
}

impl Log {
    /// Opens the log, and returns what it holds.
    pub fn open(files: Rc<dyn Files>) -> Handled<(Log, HardState, Vec<Entry>)> {
        let file = files.open(PATH, OpenFlags::CREATE)?;
        let bytes = files.read_file(PATH)?;
        let (mut state, mut entries, mut end) = (HardState::default(), Vec::<Entry>::new(), 0);
        while let Some((kind, body)) = record(&bytes[end..]) {
            end += HEAD + body.len();
            if kind == HARD_STATE {
                state = HardState::parse_from_bytes(body)?;
            } else {
                let entry = Entry::parse_from_bytes(body)?;
                entries.retain(|known| known.index < entry.index);
                entries.push(entry);
            }
        }
        files.ftruncate(file, end as u64)?;
        files.fsync(file)?;
        files.sync_dir("/")?;
        Ok((Log { files, file, end: end as u64 }, state, entries))
    }

    /// Adds the state of the node.
    pub fn add_state(&mut self, state: &HardState) -> Handled {
        self.add(HARD_STATE, &state.write_to_bytes()?)
    }

    /// Adds an entry. It replaces those of its index and later ones.
    pub fn add_entry(&mut self, entry: &Entry) -> Handled {
        self.add(ENTRY, &entry.write_to_bytes()?)
    }

    /// Makes everything durable that was added.
    pub fn sync(&self) -> Handled {
        Ok(self.files.fdatasync(self.file)?)
    }

    fn add(&mut self, kind: u8, body: &[u8]) -> Handled {
        let length = (body.len() as u32).to_le_bytes();
        let record = [&length, &hash(kind, body)[..], &[kind], body].concat();
        self.files.pwrite(self.file, self.end, &record)?;
        self.end += record.len() as u64;
        Ok(())
    }
}

fn hash(kind: u8, body: &[u8]) -> [u8; 8] {
    xxh3_64(&[&[kind], body].concat()).to_le_bytes()
}

/// Returns the first record, if it is whole.
fn record(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let head = bytes.get(..HEAD)?;
    let length = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
    let (kind, body) = (head[12], bytes.get(HEAD..HEAD.checked_add(length)?)?);
    (head[4..12] == hash(kind, body)).then_some((kind, body))
}
