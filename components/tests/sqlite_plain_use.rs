//! A use of SQLite without us works as it does without our VFS, and does not disturb the databases
//! of its own thread.
//!
//! SQLite's random generator belongs to the process, so a process of its own: with other tests of
//! ours at the same time, what the plain connection draws is theirs.

mod common;

use std::collections::BTreeSet;

use common::{BOTH, workload};
use explode_components::db::sqlite::rusqlite;

#[test]
fn plain_rusqlite_in_between_changes_nothing() {
    for journal in BOTH {
        let expected = workload(journal, 7, || {});
        let plain = rusqlite::Connection::open("").unwrap();
        let mut drawn = BTreeSet::new();
        let disturbed = workload(journal, 7, || {
            drawn.insert(
                plain
                    .query_row("SELECT randomblob(16)", [], |row| row.get::<_, Vec<u8>>(0))
                    .unwrap(),
            );
        });
        assert!(disturbed == expected);
        assert_eq!(drawn.len(), 14);
    }
}
