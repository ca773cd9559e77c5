//! The pragmas that decide what is written when.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::error::SqliteError;

/// The way in which a transaction is made atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Journal {
    /// A rollback journal that is deleted at each commit.
    #[default]
    Delete,
    /// A write-ahead log.
    Wal,
}

/// The level of syncs. The numbers are SQLite's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// SQLite never syncs.
    Off = 0,
    /// SQLite syncs at the most critical moments, a WAL only before and after checkpoints.
    Normal = 1,
    /// SQLite syncs at each commit.
    #[default]
    Full = 2,
    /// SQLite also syncs the directory after a journal is deleted.
    Extra = 3,
}

/// The settings of one connection. The defaults are SQLite's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteSettings {
    /// The way in which a transaction is made atomic.
    pub journal: Journal,
    /// The level of syncs.
    pub synchronous: Synchronous,
    /// The page size of a new database, in bytes.
    pub page_bytes: u32,
    /// The number of pages in the cache. `None` is SQLite's default, 2000 KiB.
    pub cache_pages: Option<u32>,
    /// True if a transaction that outgrows the cache may write to the database before it commits.
    pub cache_spill: bool,
    /// The number of frames in the WAL after which a commit runs a checkpoint. 0 is never.
    pub wal_autocheckpoint: u32,
    /// True if SQLite may assume that a write changes no byte outside its range, even if the power
    /// fails (`psow`). Unix assumes it.
    pub powersafe_overwrite: bool,
}

impl Default for SqliteSettings {
    fn default() -> SqliteSettings {
        SqliteSettings {
            journal: Journal::default(),
            synchronous: Synchronous::default(),
            page_bytes: 4096,
            cache_pages: None,
            cache_spill: true,
            wal_autocheckpoint: 1000,
            powersafe_overwrite: true,
        }
    }
}

impl SqliteSettings {
    /// Applies the settings to the connection, and checks that it uses them. A database that needs
    /// recovery is recovered by the first of them that reads it.
    pub(super) fn apply(&self, conn: &Connection, path: &str) -> Result<(), SqliteError> {
        let pragmas = Pragmas { conn, path };
        let memory = 2;
        let journal = match self.journal {
            Journal::Delete => "delete",
            Journal::Wal => "wal",
        };
        // The page size of a new database must be set before anything is written. That of an old
        // one is known, and compared, only after something was read.
        pragmas.set("page_size", &self.page_bytes.to_string())?;
        pragmas.ensure("temp_store", memory)?;
        // This comes before the journal mode, because making a database a WAL database is a
        // transaction. (Recovery comes before both, and syncs with SQLite's default, FULL.)
        pragmas.ensure("synchronous", self.synchronous as i64)?;
        pragmas.ensure("journal_mode", journal.to_string())?;
        pragmas.ensure("wal_autocheckpoint", i64::from(self.wal_autocheckpoint))?;
        if let Some(pages) = self.cache_pages {
            pragmas.ensure("cache_size", i64::from(pages))?;
        }
        if !self.cache_spill {
            pragmas.ensure("cache_spill", 0)?;
        }
        pragmas.expect("page_size", &i64::from(self.page_bytes).into())
    }
}

struct Pragmas<'a> {
    conn: &'a Connection,
    path: &'a str,
}

impl Pragmas<'_> {
    /// Sets a pragma unless it has the value, and checks the result.
    fn ensure(&self, setting: &'static str, wanted: impl Into<Value>) -> Result<(), SqliteError> {
        let wanted = wanted.into();
        if self.get(setting)? == wanted {
            return Ok(());
        }
        self.set(setting, &text(&wanted))?;
        self.expect(setting, &wanted)
    }

    fn expect(&self, setting: &'static str, wanted: &Value) -> Result<(), SqliteError> {
        let got = self.get(setting)?;
        if got == *wanted {
            return Ok(());
        }
        Err(SqliteError::Refused {
            path: self.path.to_string(),
            setting,
            wanted: text(wanted),
            got: text(&got),
        })
    }

    fn get(&self, setting: &str) -> Result<Value, SqliteError> {
        let got = self.conn.query_row(&format!("PRAGMA {setting}"), [], |row| row.get(0));
        got.map_err(|source| self.failed(source))
    }

    fn set(&self, setting: &str, value: &str) -> Result<(), SqliteError> {
        let set = self.conn.execute_batch(&format!("PRAGMA {setting}={value}"));
        set.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> SqliteError {
        SqliteError::Open { path: self.path.to_string(), source }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
