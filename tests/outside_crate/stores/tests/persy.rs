//! persy: a transactional store in one file.

use std::path::Path;

use explode_posix::{Result, Step, crash_test_under};
use persy::{Config, Persy};
use stores::under_each_model;

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
fn a_crash_in_a_commit_leaves_a_file_that_cannot_be_opened() {
    let results = under_each_model("persy", |model| {
        crash_test_under(model, "persy", open, step, read).depth(2)
    });
    let [posix, ext4, xfs] = &results[..] else { panic!("three models") };
    let panics = "mount-failed: store: panicked at persy-1.8.1/src/device.rs:178: index out of \
                  bounds: the len is 1 but the index is 1";
    assert_eq!([posix, ext4], [panics; 2]);
    assert_eq!(xfs, "mount-failed: store: IO Error: failed to fill whole buffer");
}
