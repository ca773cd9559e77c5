//! persy: a transactional store in one file.

use std::path::Path;

use explode_posix::{Result, Step, crash_test};
use persy::{Config, Persy};

fn open(folder: &Path) -> Result<Persy> {
    let path = folder.join("persy");
    let persy = Persy::open_or_create_with(&path, Config::new(), |persy| {
        let mut transaction = persy.begin()?;
        transaction.create_segment("numbers")?;
        transaction.prepare()?.commit()?;
        Ok(())
    })?;
    Ok(persy)
}

fn step(persy: &mut Persy, numbers: &mut Vec<u8>, step: &mut Step<'_, '_>) -> Result<()> {
    numbers.push(1 + step.choose(2) as u8);
    let mut transaction = persy.begin()?;
    transaction.insert("numbers", &numbers[numbers.len() - 1..])?;
    Ok(transaction.prepare()?.commit()?)
}

fn read(persy: &mut Persy) -> Result<Vec<u8>> {
    Ok(persy.scan("numbers")?.map(|(_, content)| content[0]).collect())
}

#[test]
fn every_commit_survives_every_crash() {
    println!("{:#?}", crash_test("persy", open, step, read).depth(2).run());
}
