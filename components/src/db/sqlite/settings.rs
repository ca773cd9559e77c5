//! How a database is used: the pragmas that decide what is written when.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::error::SqliteError;

/// How a transaction is made atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Journal {
    /// A rollback journal that is deleted at each commit.
    #[default]
    Delete,
    /// A write-ahead log.
    Wal,
}

/// When SQLite syncs; the numbers are SQLite's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Never.
    Off = 0,
    /// At the most critical moments: a WAL only before and after checkpoints.
    Normal = 1,
    /// At each commit.
    #[default]
    Full = 2,
    /// And the directory after a journal is deleted.
    Extra = 3,
}

/// The settings of one connection. The default is SQLite's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteSettings {
    /// How a transaction is made atomic.
    pub journal: Journal,
    /// When to sync.
    pub synchronous: Synchronous,
    /// Bytes of a page, of a database that is new.
    pub page_bytes: u32,
    /// Pages in the cache; `None` is SQLite's default, 2000 KiB.
    pub cache_pages: Option<u32>,
    /// May a transaction that outgrows the cache write to the database before it commits?
    pub cache_spill: bool,
    /// Frames in the WAL after which a commit runs a checkpoint; 0 for never.
    pub wal_autocheckpoint: u32,
    /// May SQLite assume that a write changes no byte outside its range, even if the power fails
    /// (`psow`)? Unix does.
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
    /// Makes the connection use these settings, and makes sure that it does. A database that needs
    /// recovery is recovered by the first of them that reads it.
    pub(super) fn apply(&self, conn: &Connection, path: &str) -> Result<(), SqliteError> {
        let pragmas = Pragmas { conn, path };
        let memory = 2;
        let journal = match self.journal {
            Journal::Delete => "delete",
            Journal::Wal => "wal",
        };
        // The page size of a new database has to be known before anything is written; that of an
        // old one is known, and compared, only after something was read.
        pragmas.set("page_size", &self.page_bytes.to_string())?;
        pragmas.ensure("temp_store", memory)?;
        // Before the journal mode: making a database a WAL database is a transaction. (Recovery
        // comes before either, and syncs as SQLite's default, FULL, has it.)
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
    /// Sets a pragma unless it has the value, and checks that it took it.
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
