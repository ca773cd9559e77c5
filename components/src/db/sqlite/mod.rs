//! Unmodified SQLite on the files of one stack.
//!
//! SQLite reaches storage only through its VFS. Ours (`vfs`, `file`) hands every call to a
//! [`Files`], and does what SQLite's own unix VFS (`os_unix.c`) does wherever that decides what is
//! durable, or in what order: the same syncs of files and directories, the same errors, the same
//! device characteristics. So what a crash breaks here it breaks on unix.
//!
//! # Which stack a call is for
//!
//! Many stacks are alive at once: one that runs, and one for each crash disk that is looked at. One
//! VFS is registered for the whole process, and every call into SQLite is a turn of one session
//! (one open [`Database`]; see `session`), which is this thread's current session until the call
//! returns. `xOpen`, `xDelete` and `xAccess` take their files from it. No token stands in a file
//! name, for two reasons: SQLite writes names into its journals (a super-journal holds the names of
//! its journals, and they hold its name), so a token would reach the disk; and `xDelete` and
//! `xAccess` see names without their URI parameters. Opening costs one thread-local lookup, and
//! nothing is registered for a stack.
//!
//! # Rules that keep this sound
//!
//! * An open file names its stack by number and owns no part of it. A method that finds no current
//!   session on its thread, or another stack's, fails with `SQLITE_IOERR` before it touches
//!   anything: SQLite's sorter threads (`PRAGMA threads`) and its shared cache
//!   (`ATTACH 'file:x?cache=shared'`) therefore fail, where they would share what must not be
//!   shared.
//! * No panic crosses into C: it becomes `SQLITE_IOERR`, and goes on when the turn ends.
//! * Locks and shared memory of a stack (one process, as far as they can tell) go with its last
//!   database.
//!
//! # Determinism
//!
//! The same calls on the same contents write the same bytes. SQLite has one random generator in the
//! process; a turn holds a process-wide lock and makes SQLite draw a new seed, from a generator
//! that depends on the seed and the contents that the database was opened with, and on how many
//! turns it has had (`random`). So turns of different threads exclude each other. Turns may nest on
//! one thread. A use of SQLite without a [`Database`] in another thread at the same time draws from
//! the same generator and spoils this. In the same thread, between turns, it does no harm, and
//! finds the unix VFS as the default, as always.
//!
//! Time stands still (`vfs`), sleeping takes no time, and no busy handler is set: a lock that
//! another connection of this thread holds will not be released by waiting.
//!
//! [`Files`]: explode_ramdisk::Files

mod component;
mod connection;
mod error;
mod file;
mod io_methods;
mod locks;
pub mod profile;
mod random;
mod session;
mod settings;
mod shared_memory;
mod stack;
mod vfs;

pub use component::{NAME, def};
pub use connection::Database;
pub use error::SqliteError;
pub use rusqlite;
pub use settings::{Journal, SqliteSettings, Synchronous};
