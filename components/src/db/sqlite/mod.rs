//! Unmodified SQLite on the files of one stack.
//!
//! SQLite reaches storage only through its VFS. This VFS (`vfs`, `file`) passes every call to a
//! [`Files`]. Wherever durability or its order depends on it, it does what SQLite's own unix VFS
//! (`os_unix.c`) does: the same syncs of files and directories, the same errors, the same device
//! characteristics. So a crash breaks here what it breaks on unix.
//!
//! # The stack of a call
//!
//! Many stacks are alive at once: the live one, and one for each crash disk that is checked. One
//! VFS is registered for the whole process. Every call into SQLite is a turn of one session (one
//! open [`Database`]; see `session`), which is this thread's current session until the call
//! returns. `xOpen`, `xDelete` and `xAccess` take their files from it. File names contain no token,
//! for two reasons. SQLite writes names into its journals (a super-journal holds the names of its
//! journals, and they hold its name), so a token would reach the disk. And `xDelete` and `xAccess`
//! see names without their URI parameters. Opening costs one thread-local lookup, and nothing is
//! registered for a stack.
//!
//! # Rules that keep this sound
//!
//! * An open file names its stack by number and owns no part of it. A method that finds no current
//!   session on its thread, or that of another stack, fails with `SQLITE_IOERR` before it touches
//!   anything. Therefore SQLite's sorter threads (`PRAGMA threads`) and its shared cache
//!   (`ATTACH 'file:x?cache=shared'`) fail instead of sharing state across stacks.
//! * No panic crosses into C. It becomes `SQLITE_IOERR` and resumes when the turn ends.
//! * Locks and shared memory of a stack, which its databases see as one process, are freed with its
//!   last database.
//!
//! # Determinism
//!
//! The same calls on the same contents write the same bytes. SQLite has one random generator in the
//! process. A turn holds a process-wide lock and makes SQLite draw a new seed from a generator.
//! That generator depends on the seed and the contents with which the database was opened, and on
//! the number of turns since (`random`). So turns of different threads exclude each other. Turns
//! may nest on one thread. A use of SQLite without a [`Database`] in another thread at the same
//! time draws from the same generator and breaks determinism. In the same thread, between turns, it
//! does no harm and finds the unix VFS as the default.
//!
//! Time stands still (`vfs`), sleeping takes no time, and no busy handler is set, because waiting
//! does not release a lock that another connection of this thread holds.
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
