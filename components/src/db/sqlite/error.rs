//! What can go wrong with a database.

use std::ffi::c_int;

use rusqlite::ErrorCode;

/// Why a call failed. The source is SQLite's own error.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// The VFS could not be registered: another program part has shut SQLite down, or there is no
    /// memory.
    #[error("SQLite took no VFS (code {code})")]
    Register {
        /// SQLite's result code.
        code: c_int,
    },
    /// The database could not be opened; recovery is part of opening.
    #[error("open {path}")]
    Open {
        /// The path of the database.
        path: String,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// SQLite did not accept a setting: the contents decide otherwise (another page size), or it
    /// cannot do it (a WAL).
    #[error("open {path}: {setting} is {got}, not {wanted}")]
    Refused {
        /// The path of the database.
        path: String,
        /// The name of the pragma.
        setting: &'static str,
        /// What was asked for.
        wanted: String,
        /// What SQLite uses.
        got: String,
    },
    /// A statement failed.
    #[error("SQL: {sql}")]
    Sql {
        /// The statements as given.
        sql: String,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl SqliteError {
    /// SQLite's primary result code, if it gave one.
    pub fn code(&self) -> Option<ErrorCode> {
        self.sqlite()?.sqlite_error_code()
    }

    /// Is it an error of what SQLite stands on, the VFS or the machine, and not of what is in the
    /// database?
    pub fn is_from_below(&self) -> bool {
        use ErrorCode::{
            ApiMisuse, CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull,
            FileLockingProtocolFailed, OutOfMemory, PermissionDenied, ReadOnly, SystemIoFailure,
        };
        let below = [
            ApiMisuse,
            CannotOpen,
            DatabaseBusy,
            DatabaseLocked,
            DiskFull,
            FileLockingProtocolFailed,
            OutOfMemory,
            PermissionDenied,
            ReadOnly,
            SystemIoFailure,
        ];
        matches!(self, SqliteError::Register { .. })
            || self.code().is_some_and(|code| below.contains(&code))
    }

    /// SQLite's extended result code, if it gave one.
    pub fn extended_code(&self) -> Option<c_int> {
        Some(self.sqlite()?.sqlite_error()?.extended_code)
    }

    fn sqlite(&self) -> Option<&rusqlite::Error> {
        match self {
            SqliteError::Open { source, .. } | SqliteError::Sql { source, .. } => Some(source),
            SqliteError::Register { .. } | SqliteError::Refused { .. } => None,
        }
    }
}
