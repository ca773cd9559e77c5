//! An open redb database as a key-value store.

use std::cell::RefCell;

use explode_runtime::base::catch_panic;
use nix::errno::Errno;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};

use super::RedbSettings;
use crate::engine::{Change, Durability, EngineError, KeyValue, StoreContents};

const TABLE: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("explode");

/// The database and its settings.
pub(super) struct Engine {
    settings: RedbSettings,
    database: RefCell<Database>,
}

impl KeyValue for Engine {
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), EngineError> {
        called(|| self.transaction(changes, durability))
    }

    /// Compacts the database, which commits, moves pages and truncates the file.
    fn checkpoint(&self) -> Result<(), EngineError> {
        called(|| self.database.borrow_mut().compact().map(drop).map_err(failed))
    }

    fn contents(&self) -> Result<StoreContents, EngineError> {
        called(|| self.read())
    }
}

impl Engine {
    /// Makes an engine of an open database.
    pub fn new(settings: RedbSettings, database: Database) -> Engine {
        Engine { settings, database: RefCell::new(database) }
    }

    fn transaction(&self, changes: &[Change], durability: Durability) -> Result<(), EngineError> {
        let database = self.database.borrow();
        let mut transaction = database.begin_write().map_err(failed)?;
        let durable = self.settings.durable && durability == Durability::Synced;
        let durability = if durable { redb::Durability::Immediate } else { redb::Durability::None };
        transaction.set_durability(durability).map_err(failed)?;
        transaction.set_two_phase_commit(self.settings.two_phase_commit);
        transaction.set_quick_repair(self.settings.quick_repair);
        {
            let mut table = transaction.open_table(TABLE).map_err(failed)?;
            for change in changes {
                match change {
                    Change::Put(key, value) => {
                        table.insert(key.as_str(), value.as_slice()).map(drop)
                    }
                    Change::Delete(key) => table.remove(key.as_str()).map(drop),
                }
                .map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }

    fn read(&self) -> Result<StoreContents, EngineError> {
        let database = self.database.borrow();
        let transaction = database.begin_read().map_err(failed)?;
        let table = match transaction.open_table(TABLE) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(StoreContents::new()),
            table => table.map_err(failed)?,
        };
        let mut contents = StoreContents::new();
        for entry in table.iter().map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            contents.insert(key.value().to_owned(), value.value().to_vec());
        }
        Ok(contents)
    }
}

/// Calls redb, which may panic if it trusts a damaged file.
pub(super) fn called<T>(call: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    catch_panic(call).unwrap_or_else(|panic| Err(EngineError::Corrupt(format!("redb {panic}"))))
}

/// Converts an error of redb. An error of the files is blamed on them. A file that is too short, or
/// not a file of redb, is damage.
pub(super) fn failed(error: impl Into<redb::Error>) -> EngineError {
    let error = error.into();
    match &error {
        redb::Error::Io(below) => match below.raw_os_error() {
            Some(errno) => EngineError::Below(Errno::from_raw(errno)),
            None => EngineError::Corrupt(error.to_string()),
        },
        redb::Error::PreviousIo => EngineError::Below(Errno::EIO),
        _ => EngineError::Corrupt(error.to_string()),
    }
}
