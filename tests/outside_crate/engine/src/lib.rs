//! A storage engine: counters in one file. A record is one byte, the number of the counter that is
//! incremented. Counter 0 does not exist.

use std::io;

/// The file that the engine uses.
pub trait Storage {
    fn read(&self) -> io::Result<Vec<u8>>;
    fn append(&self, at: usize, bytes: &[u8]) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
}

pub struct Counters<S> {
    storage: S,
    records: Vec<u8>,
}

impl<S: Storage> Counters<S> {
    pub fn open(storage: S) -> io::Result<Self> {
        // After a crash the file may have its new size without the written bytes: zeroes.
        let mut records = storage.read()?;
        records.truncate(records.iter().rposition(|record| *record != 0).map_or(0, |at| at + 1));
        Ok(Counters { storage, records })
    }

    /// Increments a counter. The count is durable when this returns.
    pub fn count(&mut self, counter: u8) -> io::Result<()> {
        self.storage.append(self.records.len(), &[counter])?;
        self.records.push(counter);
        self.storage.sync()
    }

    pub fn records(&self) -> &[u8] {
        &self.records
    }
}
