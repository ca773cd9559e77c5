//! The same calls on the same contents write the same bytes, whatever else the process does.
//! Different calls draw different random numbers.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::{BOTH, Stack, settings, workload};
use explode_components::db::sqlite::{Journal, SqliteSettings, Synchronous};
use explode_ramdisk::Event;
use explode_ramdisk::files::OpenFlags;

const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

#[test]
fn equal_workloads_have_equal_logs() {
    for journal in BOTH {
        let expected = workload(journal, 7, || {});
        assert!(expected.len() > 50);
        assert!(workload(journal, 7, || {}) == expected);
        assert!(workload(journal, 8, || {}) != expected);
    }
}

#[test]
fn other_stacks_in_between_change_nothing() {
    for journal in BOTH {
        let expected = workload(journal, 7, || {});
        let other = Stack::empty().open(&SqliteSettings::default());
        other.execute_batch("CREATE TABLE t(v)").unwrap();
        let busy = workload(journal, 7, || {
            other.execute_batch("INSERT INTO t VALUES(randomblob(11))").unwrap();
            drop(Stack::empty().open(&settings(Journal::Wal, Synchronous::Off)));
        });
        assert!(busy == expected);
    }
}

#[test]
fn other_threads_at_the_same_time_change_nothing() {
    for journal in BOTH {
        let expected = workload(journal, 7, || {});
        let (done, noises) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    workload(journal, 9, || {});
                    noises.fetch_add(1, Ordering::Relaxed);
                }
            });
            let mut runs = 0;
            while runs < 20 || noises.load(Ordering::Relaxed) == 0 {
                assert!(workload(journal, 7, std::thread::yield_now) == expected);
                runs += 1;
            }
            let elsewhere = scope.spawn(|| workload(journal, 7, || {}));
            assert!(elsewhere.join().unwrap() == expected);
            done.store(true, Ordering::Relaxed);
        });
    }
}

/// Asserts that a leftover journal never looks like the next one.
#[test]
fn every_transaction_has_its_own_nonce() {
    let log = workload(Journal::Delete, 7, || {});
    let nonces: Vec<&[u8]> = log
        .iter()
        .filter_map(|event| match event {
            Event::Dirty { data, .. } if data.starts_with(&JOURNAL_MAGIC) => Some(&data[12..16]),
            _ => None,
        })
        .collect();
    // One for the table, and two times six for the rows.
    assert_eq!(nonces.len(), 13);
    assert_eq!(BTreeSet::from_iter(&nonces).len(), 13);
}

/// Asserts that a frame of an old WAL never looks like one of the next, although the seed is the
/// same.
#[test]
fn every_life_has_its_own_salts() {
    let stack = Stack::empty();
    let mut salts = BTreeSet::new();
    for life in 0..4 {
        let db = stack.open(&settings(Journal::Wal, Synchronous::Normal));
        db.execute_batch(&format!("CREATE TABLE t{life}(v)")).unwrap();
        let wal = stack.files.open("/db-wal", OpenFlags::EXISTING).unwrap();
        let mut head = [0; 32];
        stack.files.pread(wal, 0, &mut head).unwrap();
        stack.files.close(wal).unwrap();
        salts.insert(head[16..24].to_vec());
        assert_eq!(salts.len(), life + 1);
    }
}

#[test]
fn time_stands_still() {
    let db = Stack::empty().open(&SqliteSettings::default());
    let now = db.query("SELECT datetime('now'), julianday('now')", [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    assert_eq!(now.unwrap(), [("2000-01-01 00:00:00".to_string(), 2_451_544.5)]);
}
