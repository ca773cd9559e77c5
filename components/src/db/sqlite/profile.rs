//! The promises of SQLite under each setting, quoted from its documentation.

use explode_runtime::verdict::{Profile, Promise};

use super::{Journal, SqliteSettings, Synchronous};

/// The database can be read and is consistent.
pub const INTACT: &str = "intact";
/// The contents that a checkpoint copied into the database are there.
pub const CHECKPOINTED: &str = "checkpointed";
/// A transaction is there as a whole or not at all.
pub const ATOMIC: &str = "atomic";
/// Uncommitted changes are not there.
pub const ISOLATED: &str = "isolated";
/// A committed transaction is there, except possibly the last one.
pub const DURABLE: &str = "durable";
/// The last committed transaction is there.
pub const LAST_COMMIT: &str = "last-commit";

const PRAGMA: &str = "https://www.sqlite.org/pragma.html#pragma_synchronous";

const fn promised(name: &'static str, quote: &'static str, source: &'static str) -> Promise {
    Promise { name, kept: true, quote, source }
}

const fn excluded(name: &'static str, quote: &'static str) -> Promise {
    Promise { name, kept: false, quote, source: PRAGMA }
}

const ACID: &str = "SQLite implements serializable transactions that are atomic, consistent, \
                    isolated, and durable, even if the \
                    transaction is interrupted by a program crash, an operating system crash, or \
                    a power failure to the \
                    computer.";
const TRANSACTIONAL: &str = "https://www.sqlite.org/transactional.html";
const WAL: &str = "https://www.sqlite.org/wal.html";
const FULL: &str = "SQLite database engine will use the xSync method of the VFS to ensure that \
                    all content is safely written \
                    to the disk surface prior to continuing. This ensures that an operating \
                    system crash or power failure \
                    will not corrupt the database.";
const FULL_WAL: &str = "Writers sync the WAL on every transaction commit if PRAGMA synchronous is \
                        set to FULL but omit this sync if \
                        PRAGMA synchronous is set to NORMAL.";
const EXTRA: &str = "EXTRA synchronous is like FULL with the addition that the directory \
                     containing a rollback journal is \
                     synced after that journal is unlinked to commit a transaction in DELETE \
                     mode. EXTRA provides \
                     additional durability if the commit is followed closely by a power loss.";
const NORMAL_DELETE: &str = "There is a very small (though non-zero) chance that a power failure \
                             at just the wrong time \
                             could corrupt the database in journal_mode=DELETE on an older \
                             filesystem.";
const CHECKPOINT: &str = "In WAL mode when synchronous is NORMAL (1), the WAL file is \
                          synchronized before each checkpoint and the \
                          database file is synchronized after each completed checkpoint";
const NORMAL_WAL: &str = "WAL mode is always consistent with synchronous=NORMAL, but WAL mode \
                          does lose durability. A \
                          transaction committed in WAL mode with synchronous=NORMAL might roll \
                          back following a power \
                          loss or system crash.";

/// Returns the promises of a setting.
///
/// OFF is judged by SQLite's general promise, although its documentation warns that "the database
/// might become corrupted if the operating system crashes or the computer loses power". A user who
/// runs explode on it wants to see the meaning of that warning.
pub(super) fn profile(settings: &SqliteSettings) -> Profile {
    let promises = match (settings.journal, settings.synchronous) {
        (_, Synchronous::Off) => {
            vec![promised(DURABLE, ACID, TRANSACTIONAL), promised(INTACT, ACID, TRANSACTIONAL)]
        }
        (Journal::Delete, Synchronous::Normal) => vec![
            excluded(INTACT, NORMAL_DELETE),
            excluded(ATOMIC, NORMAL_DELETE),
            excluded(LAST_COMMIT, EXTRA),
            promised(DURABLE, ACID, TRANSACTIONAL),
        ],
        (Journal::Delete, Synchronous::Full) => {
            vec![
                promised(INTACT, FULL, PRAGMA),
                promised(DURABLE, ACID, TRANSACTIONAL),
                excluded(LAST_COMMIT, EXTRA),
            ]
        }
        (Journal::Delete, Synchronous::Extra) => {
            vec![promised(INTACT, FULL, PRAGMA), promised(LAST_COMMIT, EXTRA, PRAGMA)]
        }
        (Journal::Wal, Synchronous::Normal) => vec![
            promised(INTACT, NORMAL_WAL, PRAGMA),
            promised(CHECKPOINTED, CHECKPOINT, PRAGMA),
            excluded(DURABLE, NORMAL_WAL),
            excluded(LAST_COMMIT, NORMAL_WAL),
        ],
        (Journal::Wal, Synchronous::Full | Synchronous::Extra) => {
            vec![promised(INTACT, FULL, PRAGMA), promised(LAST_COMMIT, FULL_WAL, WAL)]
        }
    };
    let journal = match settings.journal {
        Journal::Delete => "DELETE",
        Journal::Wal => "WAL",
    };
    let synchronous = format!("{:?}", settings.synchronous).to_uppercase();
    Profile { system: format!("SQLite journal_mode={journal} synchronous={synchronous}"), promises }
}
