//! sled: an embedded database. `Tree::flush` promises what fsync(2) gives, and calls
//! sync_file_range(2), which gives less.

use std::fs::File;
use std::path::{Path, PathBuf};

use explode_posix::{CrashTest, FileModel, Result, Step, crash_test_under};
use stores::under_each_model;

type Store = (sled::Db, PathBuf);

fn open(folder: &Path) -> Result<Store> {
    let path = folder.join("sled");
    Ok((sled::Config::new().path(&path).flush_every_ms(None).open()?, path))
}

fn insert((db, path): &mut Store, numbers: &mut Vec<u8>, number: u8, fsync: bool) -> Result<()> {
    numbers.push(number);
    db.insert([numbers.len() as u8], &[number])?;
    db.flush()?;
    if fsync {
        File::open(path.join("db"))?.sync_all()?;
    }
    Ok(())
}

fn read((db, _): &mut Store) -> Result<Vec<u8>> {
    db.iter().values().map(|value| Ok(value?[0])).collect()
}

fn test(model: FileModel, name: &str, fsync: bool) -> CrashTest {
    let step = move |store: &mut Store, numbers: &mut Vec<u8>, step: &mut Step<'_, '_>| {
        insert(store, numbers, 1 + step.choose(2) as u8, fsync)
    };
    crash_test_under(model, name, open, step, read).depth(2)
}

/// One test, because all databases of a process share threads.
#[test]
fn a_flushed_number_is_lost_and_survives_with_fsync() {
    let results = under_each_model("sled", |model| test(model, "sled", false));
    let lost = "lost: 1 steps were durable, 0 are there; it holds []";
    assert!(results.iter().all(|result| result == lost), "{results:?}");

    let name = "sled, flush and fsync";
    let results = under_each_model(name, |model| test(model, name, true));
    assert!(results.iter().all(|result| result.ends_with("silent")), "{results:?}");
}
