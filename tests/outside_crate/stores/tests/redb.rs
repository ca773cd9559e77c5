//! redb: a transactional store in one file.

use std::path::Path;

use explode_posix::{Result, Step, crash_test_under};
use redb::{Database, ReadableTable as _, TableDefinition};
use stores::under_each_model;

const NUMBERS: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");

fn open(folder: &Path) -> Result<Database> {
    Ok(Database::create(folder.join("redb"))?)
}

fn step(database: &mut Database, numbers: &mut Vec<u64>, step: &mut Step<'_, '_>) -> Result<()> {
    numbers.push(step.choose(2) as u64);
    let commit = database.begin_write()?;
    commit.open_table(NUMBERS)?.insert(numbers.len() as u64, numbers[numbers.len() - 1])?;
    Ok(commit.commit()?)
}

fn read(database: &mut Database) -> Result<Vec<u64>> {
    let transaction = database.begin_write()?;
    let numbers = transaction.open_table(NUMBERS)?;
    numbers.iter()?.map(|entry| Ok(entry?.1.value())).collect()
}

#[test]
fn every_commit_survives_every_crash() {
    let results = under_each_model("redb", |model| {
        crash_test_under(model, "redb", open, step, read).depth(2)
    });
    assert!(results.iter().all(|result| result.ends_with("silent")), "{results:?}");
}
