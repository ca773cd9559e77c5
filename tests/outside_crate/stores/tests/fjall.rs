//! fjall: a log-structured store with background threads.

use std::path::Path;

use explode_posix::{Result, Step, crash_test};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

fn open(folder: &Path) -> Result<(Database, Keyspace)> {
    let database = Database::builder(folder.join("fjall")).worker_threads(1).open()?;
    let numbers = database.keyspace("numbers", KeyspaceCreateOptions::default)?;
    Ok((database, numbers))
}

fn step(
    (database, keyspace): &mut (Database, Keyspace),
    numbers: &mut Vec<u8>,
    step: &mut Step<'_, '_>,
) -> Result<()> {
    numbers.push(1 + step.choose(2) as u8);
    keyspace.insert([numbers.len() as u8], &numbers[numbers.len() - 1..])?;
    Ok(database.persist(PersistMode::SyncAll)?)
}

fn read((_, keyspace): &mut (Database, Keyspace)) -> Result<Vec<u8>> {
    keyspace.iter().map(|entry| Ok(entry.value()?[0])).collect()
}

#[test]
fn every_persist_survives_every_crash() {
    println!("{:#?}", crash_test("fjall", open, step, read).depth(2).run());
}
