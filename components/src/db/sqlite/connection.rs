//! An open database on the files of a stack.

use std::rc::Rc;

use explode_ramdisk::Files;
use rusqlite::{Connection, OpenFlags, Params, Row};

use super::error::SqliteError;
use super::random::Random;
use super::session::{Session, SessionTurn};
use super::settings::SqliteSettings;
use super::stack::LockStack;
use super::vfs;

/// A connection to a database, every use of which is one turn (see the module).
///
/// Dropping it closes it cleanly: an open transaction is rolled back, and the last connection to a
/// database in WAL mode runs a checkpoint and deletes the WAL. To prevent any write, fence the
/// storage before, or use [`crash`](Database::crash).
pub struct Database {
    /// The connection. `None` only while it is dropped.
    conn: Option<Connection>,
    session: Rc<Session>,
}

impl Database {
    /// Opens a database and creates it if it does not exist. Recovers it if a crash left a journal
    /// or a WAL.
    ///
    /// Databases opened on the same `Rc` share locks and shared memory, like connections of one
    /// process. Those on another `Rc` are independent, even if the same files are behind it. `seed`
    /// and the current contents of the database decide the random numbers that SQLite uses.
    pub fn open(
        files: Rc<dyn Files>,
        path: &str,
        settings: &SqliteSettings,
        seed: u64,
    ) -> Result<Database, SqliteError> {
        vfs::register().map_err(|code| SqliteError::Register { code })?;
        let stack = LockStack::of(files);
        let random = Random::new(&*stack.files, path, stack.count_database(), seed);
        let mut database = Database {
            conn: None,
            session: Session::new(stack, settings.powersafe_overwrite, random),
        };
        let turn = SessionTurn::begin(&database.session);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            // Only one thread calls at a time, so no mutex is needed for each call.
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags_and_vfs(path, flags, vfs::NAME)
            .and_then(|conn| {
                // The holder of the lock does not run during the wait.
                conn.busy_timeout(std::time::Duration::ZERO)?;
                Ok(conn)
            })
            .map_err(|source| SqliteError::Open { path: path.to_string(), source });
        let applied = match opened {
            Ok(conn) => settings.apply(database.conn.insert(conn), path),
            Err(error) => Err(error),
        };
        drop(turn);
        database.session.resume_panic();
        applied.map(|()| database)
    }

    /// Uses the connection for one turn. Prepared statements end with it.
    pub fn with<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        let turn = SessionTurn::begin(&self.session);
        let result = work(self.conn.as_ref().expect("open until dropped"));
        drop(turn);
        self.session.resume_panic();
        result
    }

    /// Runs statements and discards their rows.
    pub fn execute_batch(&self, sql: &str) -> Result<(), SqliteError> {
        self.with(|conn| conn.execute_batch(sql)).map_err(|source| failed(sql, source))
    }

    /// Runs one statement. Returns the number of rows that it changed.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<usize, SqliteError> {
        self.with(|conn| conn.execute(sql, params)).map_err(|source| failed(sql, source))
    }

    /// Runs one query. Returns the result of `row` for each row.
    pub fn query<T>(
        &self,
        sql: &str,
        params: impl Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, SqliteError> {
        let rows: rusqlite::Result<Vec<T>> =
            self.with(|conn| conn.prepare(sql)?.query_map(params, row)?.collect());
        rows.map_err(|source| failed(sql, source))
    }

    /// Returns the problems that `PRAGMA integrity_check` reports. Empty if the database is sound.
    pub fn integrity(&self) -> Result<Vec<String>, SqliteError> {
        let mut lines = self.query("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))?;
        lines.retain(|line| line != "ok");
        Ok(lines)
    }

    /// Ends like a killed process: descriptors are closed, locks are released, nothing is written.
    pub fn crash(self) {
        self.session.crash();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let turn = SessionTurn::begin(&self.session);
        drop(self.conn.take());
        drop(turn);
        self.session.resume_panic();
    }
}

fn failed(sql: &str, source: rusqlite::Error) -> SqliteError {
    SqliteError::Sql { sql: sql.to_string(), source }
}
