//! sled: an embedded database with a log of segments.

use std::path::Path;

use explode_posix::{Result, Step, crash_test};

fn open(folder: &Path) -> Result<sled::Db> {
    Ok(sled::Config::new().path(folder.join("db")).flush_every_ms(None).open()?)
}

fn step(db: &mut sled::Db, numbers: &mut Vec<u8>, step: &mut Step<'_, '_>) -> Result<()> {
    numbers.push(1 + step.choose(2) as u8);
    db.insert([numbers.len() as u8], &[numbers[numbers.len() - 1]])?;
    db.flush()?;
    Ok(())
}

fn read(db: &mut sled::Db) -> Result<Vec<u8>> {
    db.iter().values().map(|value| Ok(value?[0])).collect()
}

#[test]
fn every_flush_survives_every_crash() {
    println!("{:#?}", crash_test("sled", open, step, read).depth(2).run());
}
