//! fjall: a log-structured store whose memory tables are written by threads in the background.

use std::path::Path;

use explode_posix::{Result, Step, crash_test_under};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use stores::under_each_model;

type Store = (Database, Keyspace);

fn open(folder: &Path) -> Result<Store> {
    let database = Database::builder(folder.join("fjall")).worker_threads(1).open()?;
    let numbers = database.keyspace("numbers", KeyspaceCreateOptions::default)?;
    Ok((database, numbers))
}

fn insert((database, keyspace): &mut Store, numbers: &mut Vec<u8>) -> Result<()> {
    numbers.push(numbers.len() as u8 + 1);
    keyspace.insert([numbers.len() as u8], &numbers[numbers.len() - 1..])?;
    Ok(database.persist(PersistMode::SyncAll)?)
}

/// Inserts a number, and then has its thread write the table of memory to a file or not.
fn step(store: &mut Store, numbers: &mut Vec<u8>, step: &mut Step<'_, '_>) -> Result<()> {
    let writes_table = step.choose(2) == 1;
    insert(store, numbers)?;
    if writes_table {
        store.1.rotate_memtable_and_wait()?;
    }
    Ok(())
}

fn read((_, keyspace): &mut Store) -> Result<Vec<u8>> {
    keyspace.iter().map(|entry| Ok(entry.value()?[0])).collect()
}

#[test]
fn every_persisted_number_survives_every_crash() {
    let results = under_each_model("fjall", |model| {
        crash_test_under(model, "fjall", open, step, read).depth(2)
    });
    assert!(results.iter().all(|result| result.ends_with("silent")), "{results:?}");
}
