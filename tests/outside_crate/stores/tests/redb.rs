//! redb: a transactional store in one file.

use std::path::Path;

use explode_posix::{Result, Step, crash_test};
use redb::{Database, ReadableTable as _, TableDefinition};

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
    println!("{:#?}", crash_test("redb", open, step, read).depth(2).run());
}
