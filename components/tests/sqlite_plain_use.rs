//! Another use of SQLite in the process works as it does without explode's VFS, and does not
//! disturb the databases of its thread.
//!
//! SQLite's random generator belongs to the process, so this test has a process of its own. Tests
//! that run at the same time would affect the numbers that the plain connection draws.

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
