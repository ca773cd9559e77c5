//! The errors of a database.

use std::ffi::c_int;

use rusqlite::ErrorCode;

/// The reason of a failed call. The source is SQLite's own error.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// The VFS could not be registered, because another part of the program shut SQLite down, or
    /// there is no memory.
    #[error("SQLite refused the VFS (code {code})")]
    Register {
        /// SQLite's result code.
        code: c_int,
    },
    /// The database could not be opened. Recovery is part of opening.
    #[error("open {path}")]
    Open {
        /// The path of the database.
        path: String,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// SQLite did not accept a setting: the contents decide it (another page size), or the feature
    /// is not available (a WAL).
    #[error("open {path}: {setting} is {got}, not {wanted}")]
    Refused {
        /// The path of the database.
        path: String,
        /// The name of the pragma.
        setting: &'static str,
        /// The requested value.
        wanted: String,
        /// The value that SQLite uses.
        got: String,
    },
    /// A statement failed.
    #[error("SQL: {sql}")]
    Sql {
        /// The statements as given.
        sql: String,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

impl SqliteError {
    /// Returns SQLite's primary result code, if there is one.
    pub fn code(&self) -> Option<ErrorCode> {
        self.sqlite()?.sqlite_error_code()
    }

    /// Returns true if the error is one of the VFS or the machine below SQLite, and not one of the
    /// database's contents.
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

    /// Returns SQLite's extended result code, if there is one.
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
