//! The exact syncs that each setting causes, which are those of unix.
//!
//! "(gone)" is a file that was deleted later: the rollback journal in a commit, the WAL in a close.

mod common;

use common::{Stack, settings};
use explode_components::db::sqlite::{Journal, SqliteSettings, Synchronous};

const NONE: &[&str] = &[];

/// Returns the syncs of opening a new database, of creating a table, of two commits, and of
/// closing.
fn syncs(settings: &SqliteSettings) -> [Vec<String>; 5] {
    let stack = Stack::empty();
    let db = stack.open(settings);
    let opened = stack.flushed();
    db.execute_batch("CREATE TABLE t(v INTEGER)").unwrap();
    let created = stack.flushed();
    db.execute_batch("INSERT INTO t VALUES(1)").unwrap();
    let first = stack.flushed();
    db.execute_batch("INSERT INTO t VALUES(2)").unwrap();
    let second = stack.flushed();
    drop(db);
    [opened, created, first, second, stack.flushed()]
}

/// Asserts that in rollback mode each transaction makes the same syncs, and that opening and
/// closing make none.
fn assert_rollback(synchronous: Synchronous, each: &[&str]) {
    assert_eq!(syncs(&settings(Journal::Delete, synchronous)), [NONE, each, each, each, NONE]);
}

#[test]
fn rollback_off_syncs_nothing() {
    assert_rollback(Synchronous::Off, NONE);
}

/// Syncs the journal and its name, then the database. A crash may restore the journal, and so undo
/// the last commit.
#[test]
fn rollback_normal_syncs_the_journal_once() {
    assert_rollback(Synchronous::Normal, &["(gone)", "/", "db"]);
}

/// Syncs the journal a second time, with the count of its records.
#[test]
fn rollback_full_syncs_the_journal_twice() {
    assert_rollback(Synchronous::Full, &["(gone)", "/", "(gone)", "db"]);
}

/// Syncs the directory after the journal is deleted.
#[test]
fn rollback_extra_syncs_the_deletion() {
    assert_rollback(Synchronous::Extra, &["(gone)", "/", "(gone)", "db", "/"]);
}

#[test]
fn wal_off_syncs_nothing() {
    assert_eq!(syncs(&settings(Journal::Wal, Synchronous::Off)), [NONE; 5]);
}

/// Syncs the WAL's head and its name once. Then no commit syncs until the checkpoint of the close.
#[test]
fn wal_normal_syncs_around_checkpoints() {
    let opened: &[&str] = &["(gone)", "/", "db"];
    let expected: [&[&str]; 5] = [opened, &["db-wal", "/"], NONE, NONE, &["(gone)", "db"]];
    assert_eq!(syncs(&settings(Journal::Wal, Synchronous::Normal)), expected);
}

/// Each commit also syncs the WAL. EXTRA adds nothing, because a commit deletes nothing.
#[test]
fn wal_full_and_extra_sync_each_commit() {
    let rest: [&[&str]; 4] =
        [&["db-wal", "/", "db-wal"], &["db-wal"], &["db-wal"], &["(gone)", "db"]];
    for (synchronous, opened) in [
        (Synchronous::Full, ["(gone)", "/", "(gone)", "db"].as_slice()),
        (Synchronous::Extra, ["(gone)", "/", "(gone)", "db", "/"].as_slice()),
    ] {
        let syncs = syncs(&settings(Journal::Wal, synchronous));
        assert_eq!(syncs[0], opened);
        assert_eq!(syncs[1..], rest);
    }
}

/// A commit that finds enough frames runs a checkpoint, which syncs the WAL and then the database.
#[test]
fn an_automatic_checkpoint_syncs_the_wal_and_then_the_database() {
    let stack = Stack::empty();
    let settings =
        SqliteSettings { wal_autocheckpoint: 3, ..settings(Journal::Wal, Synchronous::Normal) };
    let db = stack.open(&settings);
    // Two frames: the first page, with the schema, and the root of the new table.
    db.execute_batch("CREATE TABLE t(v INTEGER)").unwrap();
    assert_eq!(stack.flushed()[3..], ["db-wal", "/"]);
    db.execute_batch("INSERT INTO t VALUES(1)").unwrap();
    assert_eq!(stack.flushed(), ["db-wal", "db"]);
    // The WAL starts again with a new head.
    db.execute_batch("INSERT INTO t VALUES(2)").unwrap();
    assert_eq!(stack.flushed(), ["db-wal"]);
}

/// In a transaction over two databases, the super-journal's name is synced with it, and again when
/// it is deleted.
#[test]
fn a_super_journal_is_synced_with_its_directory() {
    let stack = Stack::empty();
    let db = stack.open(&settings(Journal::Delete, Synchronous::Full));
    db.execute_batch("CREATE TABLE t(v); ATTACH '/other' AS other; CREATE TABLE other.u(v)")
        .unwrap();
    stack.flushed();
    db.execute_batch("BEGIN; INSERT INTO t VALUES(1); INSERT INTO other.u VALUES(2); COMMIT")
        .unwrap();
    let super_journal = ["(gone)", "/"];
    let each = ["(gone)", "/", "(gone)"];
    let mut expected = super_journal.to_vec();
    expected.extend(each);
    expected.push("db");
    expected.extend(each);
    expected.push("other");
    // The commit itself deletes the super-journal and makes that durable.
    expected.push("/");
    assert_eq!(stack.flushed(), expected);
    assert_eq!(stack.names(), ["db", "other"]);
}
