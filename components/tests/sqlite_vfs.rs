//! Tests of SQLite on simulated files: locks, shared memory, recovery, errors, and the separation
//! of stacks.

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use common::{BOTH, DB, Failing, Stack, settings, values};
use explode_components::db::sqlite::rusqlite::ErrorCode;
use explode_components::db::sqlite::{Database, Journal, SqliteError, SqliteSettings, Synchronous};
use explode_ramdisk::files::OpenFlags;
use nix::errno::Errno;

fn settings_of(journal: Journal) -> SqliteSettings {
    settings(journal, Synchronous::Full)
}

/// Opens a database with the row 1.
fn with_one_row(stack: &Stack, settings: &SqliteSettings) -> Database {
    let db = stack.open(settings);
    db.execute_batch("CREATE TABLE t(v INTEGER); INSERT INTO t VALUES(1)").unwrap();
    db
}

fn assert_busy<T: std::fmt::Debug>(result: Result<T, SqliteError>) {
    assert_eq!(result.unwrap_err().code(), Some(ErrorCode::DatabaseBusy));
}

#[test]
fn close_and_reopen() {
    for journal in BOTH {
        let stack = Stack::empty();
        let db = with_one_row(&stack, &settings_of(journal));
        let open: &[&str] = if journal == Journal::Wal { &["db", "db-wal"] } else { &["db"] };
        assert_eq!(stack.names(), open);
        drop(db);
        assert_eq!(stack.names(), ["db"]);
        let db = stack.open(&settings_of(journal));
        assert_eq!(values(&db), [1]);
        assert_eq!(db.execute("INSERT INTO t VALUES(?1)", [2]).unwrap(), 1);
        assert_eq!(values(&db), [1, 2]);
        assert_eq!(db.integrity().unwrap(), [""; 0]);
    }
}

#[test]
fn one_writer_at_a_time() {
    for journal in BOTH {
        let stack = Stack::empty();
        let one = with_one_row(&stack, &settings_of(journal));
        let other = stack.open(&settings_of(journal));
        one.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)").unwrap();
        assert_busy(other.execute("INSERT INTO t VALUES(3)", []));
        assert_eq!(values(&other), [1]);
        one.execute_batch("COMMIT").unwrap();
        other.execute("INSERT INTO t VALUES(3)", []).unwrap();
        assert_eq!(values(&one), [1, 2, 3]);
    }
}

/// In rollback mode a commit waits for readers and keeps new ones out meanwhile.
#[test]
fn a_commit_waits_for_readers() {
    let stack = Stack::empty();
    let writer = with_one_row(&stack, &SqliteSettings::default());
    let [reader, late] = [0; 2].map(|_| stack.open(&SqliteSettings::default()));
    reader.execute_batch("BEGIN; SELECT * FROM t").unwrap();
    writer.execute_batch("BEGIN; INSERT INTO t VALUES(2)").unwrap();
    assert_busy(writer.execute_batch("COMMIT"));
    assert_busy(late.execute_batch("SELECT * FROM t"));
    assert_eq!(values(&reader), [1]);
    reader.execute_batch("COMMIT").unwrap();
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(values(&late), [1, 2]);
}

/// In WAL mode a reader keeps its snapshot while another connection writes, and delays checkpoints.
#[test]
fn readers_of_a_wal_keep_their_snapshot() {
    let stack = Stack::empty();
    let writer = with_one_row(&stack, &settings_of(Journal::Wal));
    let reader = stack.open(&settings_of(Journal::Wal));
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(values(&reader), [1]);
    // The frames do not fit into one region of the WAL index.
    for value in 2..=5000 {
        writer.execute("INSERT INTO t VALUES(?1)", [value]).unwrap();
    }
    assert_eq!(values(&reader), [1]);
    let truncate =
        || writer.query("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(truncate(), [1]);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(values(&reader).len(), 5000);
    assert_eq!(truncate(), [0]);
    assert_eq!(stack.files.stat("/db-wal").unwrap().size, 0);
    assert_eq!(values(&reader).len(), 5000);
}

#[test]
fn stacks_share_nothing() {
    for journal in BOTH {
        let (left, right) = (Stack::empty(), Stack::empty());
        let one = with_one_row(&left, &settings_of(journal));
        let other = with_one_row(&right, &settings_of(journal));
        one.execute_batch("BEGIN EXCLUSIVE; INSERT INTO t VALUES(2)").unwrap();
        other.execute_batch("INSERT INTO t VALUES(3)").unwrap();
        // A turn of one session runs within a turn of another.
        assert_eq!(one.with(|_| values(&other)), [1, 3]);
        one.execute_batch("COMMIT").unwrap();
        assert_eq!(values(&one), [1, 2]);
    }
}

#[test]
fn a_stack_is_freed_after_its_connections() {
    for journal in BOTH {
        let stack = Stack::empty();
        let dbs = [0; 3].map(|_| stack.open(&settings_of(journal)));
        assert!(Rc::strong_count(&stack.files) > 1);
        let [first, second, third] = dbs;
        drop(first);
        second.crash();
        drop(third);
        assert_eq!(Rc::strong_count(&stack.files), 1);
        // The first descriptor is free again.
        assert_eq!(stack.files.open(DB, OpenFlags::EXISTING).unwrap().0, 0);
    }
}

/// Takes an image while the database is half changed and the journal is hot.
#[test]
fn a_hot_journal_is_rolled_back() {
    let stack = Stack::empty();
    let db = with_one_row(&stack, &SqliteSettings::default());
    db.execute_batch("BEGIN; INSERT INTO t VALUES(2)").unwrap();
    db.with(|conn| conn.cache_flush()).unwrap();
    assert_eq!(stack.names(), ["db", "db-journal"]);

    let crashed = Stack::on(stack.storage.image());
    let raw = crashed.files.read_file(DB).unwrap();
    let recovered = crashed.open(&SqliteSettings::default());
    assert_ne!(crashed.files.read_file(DB).unwrap(), raw);
    assert_eq!(values(&recovered), [1]);
    assert_eq!(recovered.integrity().unwrap(), [""; 0]);
    assert_eq!(crashed.names(), ["db"]);
    // The journal may have been written by a dead process, so it is synced before it is used. The
    // database is synced before the journal is deleted. The directory is not synced (FULL).
    assert_eq!(crashed.flushed(), ["(gone)", "db"]);

    db.execute_batch("COMMIT").unwrap();
    assert_eq!(values(&db), [1, 2]);
}

#[test]
fn a_wal_is_read_after_a_crash() {
    let stack = Stack::empty();
    let db = with_one_row(&stack, &settings_of(Journal::Wal));
    db.execute_batch("BEGIN; INSERT INTO t VALUES(2)").unwrap();
    db.with(|conn| conn.cache_flush()).unwrap();
    let crashed = Stack::on(stack.storage.image());
    let recovered = crashed.open(&settings_of(Journal::Wal));
    assert_eq!(values(&recovered), [1]);
    recovered.execute_batch("INSERT INTO t VALUES(3)").unwrap();
    assert_eq!(values(&recovered), [1, 3]);
    assert_eq!(recovered.integrity().unwrap(), [""; 0]);
}

/// A process that dies writes nothing. The next one on the same files recovers them.
#[test]
fn a_crash_of_the_process_writes_nothing() {
    for journal in BOTH {
        let stack = Stack::empty();
        let db = with_one_row(&stack, &settings_of(journal));
        db.execute_batch("BEGIN; INSERT INTO t VALUES(2)").unwrap();
        db.with(|conn| conn.cache_flush()).unwrap();
        let names = stack.names();
        assert_eq!(names.len(), 2);
        stack.storage.take_log();
        db.crash();
        assert_eq!(stack.storage.take_log(), []);
        assert_eq!(stack.names(), names);
        assert_eq!(values(&stack.open(&settings_of(journal))), [1]);
    }
}

#[test]
fn a_fenced_storage_stays_as_it_is() {
    for journal in BOTH {
        let stack = Stack::empty();
        let db = with_one_row(&stack, &settings_of(journal));
        db.execute_batch("BEGIN; INSERT INTO t VALUES(2)").unwrap();
        db.with(|conn| conn.cache_flush()).unwrap();
        stack.storage.take_log();
        let image = stack.storage.image();
        stack.storage.fence();
        drop(db);
        assert_eq!(stack.storage.take_log(), []);
        assert_eq!(stack.storage.image().identity(), image.identity());
    }
}

/// Every write fails once. The error has the right name, and the database is unchanged.
#[test]
fn a_full_disk_is_an_error_and_no_damage() {
    for (errno, code) in
        [(Errno::ENOSPC, ErrorCode::DiskFull), (Errno::EIO, ErrorCode::SystemIoFailure)]
    {
        for journal in BOTH {
            let mut failures = 0;
            loop {
                let stack = Stack::empty();
                drop(with_one_row(&stack, &settings_of(journal)));
                let failing = Failing {
                    inner: stack.files.clone(),
                    writes_left: Cell::new(failures),
                    errno: Some(errno),
                };
                let db = Database::open(Rc::new(failing), DB, &settings_of(journal), 1).unwrap();
                let result = db.execute_batch("INSERT INTO t VALUES(2)");
                db.crash();
                let after = stack.open(&settings_of(journal));
                assert_eq!(after.integrity().unwrap(), [""; 0]);
                let Err(error) = result else {
                    assert_eq!(values(&after), [1, 2]);
                    break;
                };
                assert_eq!(error.code(), Some(code), "{errno} at write {failures}");
                assert_eq!(values(&after), [1]);
                failures += 1;
            }
            assert!(failures > 1, "{journal:?}: {failures}");
        }
    }
}

/// A panic below SQLite resumes above it, and the next turn works.
#[test]
fn a_panic_of_the_files_passes_through() {
    let stack = Stack::empty();
    drop(with_one_row(&stack, &SqliteSettings::default()));
    let failing = Failing { inner: stack.files.clone(), writes_left: Cell::new(1), errno: None };
    let db = Database::open(Rc::new(failing), DB, &SqliteSettings::default(), 1).unwrap();
    let insert = || db.execute_batch("INSERT INTO t VALUES(2)");
    let panic = catch_unwind(AssertUnwindSafe(insert)).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "these files panic");
    db.crash();
    assert_eq!(values(&stack.open(&SqliteSettings::default())), [1]);
}

/// A setting that contradicts the contents is an error.
#[test]
fn settings_that_do_not_hold_are_refused() {
    let stack = Stack::empty();
    drop(with_one_row(&stack, &SqliteSettings { page_bytes: 1024, ..SqliteSettings::default() }));
    let refused =
        Database::open(stack.files.clone(), DB, &SqliteSettings::default(), 1).err().unwrap();
    assert_eq!(refused.to_string(), "open /db: page_size is 1024, not 4096");
    assert_eq!(Rc::strong_count(&stack.files), 1);
    let nowhere =
        Database::open(stack.files.clone(), "/no/db", &SqliteSettings::default(), 1).err().unwrap();
    assert_eq!(nowhere.code(), Some(ErrorCode::CannotOpen));
}

#[test]
fn all_settings_are_used() {
    let odd = SqliteSettings {
        journal: Journal::Wal,
        synchronous: Synchronous::Extra,
        page_bytes: 512,
        cache_pages: Some(20),
        cache_spill: false,
        wal_autocheckpoint: 0,
        powersafe_overwrite: false,
    };
    let db = Stack::empty().open(&odd);
    let pragma = |name: &str| {
        db.query(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap()[0]
    };
    let names = [
        "synchronous",
        "page_size",
        "cache_size",
        "cache_spill",
        "wal_autocheckpoint",
        "temp_store",
    ];
    assert_eq!(names.map(pragma), [3, 512, 20, 0, 0, 2]);
}

/// Without the promise that a write changes no byte outside its range, journals have sectors of
/// 4096 bytes.
#[test]
fn powersafe_overwrite_decides_the_sectors_of_a_journal() {
    for (powersafe_overwrite, head) in [(true, 512), (false, 4096)] {
        let stack = Stack::empty();
        let db = with_one_row(
            &stack,
            &SqliteSettings { powersafe_overwrite, ..SqliteSettings::default() },
        );
        db.execute_batch("BEGIN; INSERT INTO t VALUES(2)").unwrap();
        db.with(|conn| conn.cache_flush()).unwrap();
        // The file has the head, one page with its number before it and its checksum behind it, and
        // in the next sector the head of the next part.
        let behind: u64 = head + 4 + 4096 + 4;
        assert_eq!(
            stack.files.stat("/db-journal").unwrap().size,
            behind.next_multiple_of(head) + head
        );
    }
}

const BIG_SORT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \
                        20000) \
                        SELECT hex(i), zeroblob(100) FROM n ORDER BY hex(i)";

#[test]
fn temporary_files_are_not_on_the_stack() {
    let stack = Stack::empty();
    let db =
        with_one_row(&stack, &SqliteSettings { cache_pages: Some(1), ..SqliteSettings::default() });
    stack.storage.take_log();
    db.execute_batch("PRAGMA temp_store = 1").unwrap();
    let sorted = db.query(BIG_SORT, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(sorted.len(), 20000);
    assert!(sorted.is_sorted());
    assert_eq!(stack.storage.take_log(), []);
}

/// SQLite's own threads and its shared cache fail, because they would use a stack outside its turn.
#[test]
fn threads_and_shared_caches_fail() {
    let (left, right) = (Stack::empty(), Stack::empty());
    let one =
        with_one_row(&left, &SqliteSettings { cache_pages: Some(1), ..SqliteSettings::default() });
    one.execute_batch("PRAGMA temp_store = 1; PRAGMA threads = 4").unwrap();
    assert!(one.query(BIG_SORT, [], |row| row.get::<_, String>(0)).is_err());
    assert_eq!(values(&one), [1]);

    let other = with_one_row(&right, &SqliteSettings::default());
    for db in [&one, &other] {
        db.execute_batch("ATTACH 'file:/shared?cache=shared' AS shared").unwrap();
    }
    one.execute_batch("CREATE TABLE shared.u(v)").unwrap();
    assert!(other.execute_batch("CREATE TABLE shared.w(v)").is_err());
    assert_eq!(left.names(), ["db", "shared"]);
    assert_eq!(values(&other), [1]);
}
