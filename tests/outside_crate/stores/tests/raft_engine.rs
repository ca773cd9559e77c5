//! raft-engine: the log of TiKV. Its files are read by a pool of threads when it is opened.

use std::path::Path;

use explode_posix::{Result, Step, crash_test_under};
use raft_engine::{Config, Engine, LogBatch, ReadableSize};
use stores::under_each_model;

/// Opens an engine with files so small that some writes begin a new one.
fn open(folder: &Path) -> Result<Engine> {
    Ok(Engine::open(Config {
        dir: folder.join("raft").to_string_lossy().into_owned(),
        batch_compression_threshold: ReadableSize(0),
        target_file_size: ReadableSize::kb(4),
        purge_threshold: ReadableSize::kb(8),
        ..Config::default()
    })?)
}

/// Writes a number, and then removes or rewrites old files or not.
fn step(engine: &mut Engine, numbers: &mut Vec<u8>, step: &mut Step<'_, '_>) -> Result<()> {
    let purges = step.choose(2) == 1;
    numbers.push(numbers.len() as u8 + 1);
    let mut batch = LogBatch::default();
    let last = numbers[numbers.len() - 1];
    batch.put(1, vec![last], vec![last; 2000])?;
    batch.put(2, b"last".to_vec(), vec![last; 2000])?;
    engine.write(&mut batch, true)?;
    if purges {
        engine.purge_expired_files()?;
    }
    Ok(())
}

fn read(engine: &mut Engine) -> Result<Vec<u8>> {
    let found = (1..=20).map_while(|key| engine.get(1, &[key])).map(|value| value[0]);
    let numbers: Vec<u8> = found.collect();
    let last = engine.get(2, b"last").map(|value| value[0]);
    if last != numbers.last().copied() {
        return Err(format!("the last number is {last:?}, and there are {numbers:?}").into());
    }
    Ok(numbers)
}

#[test]
fn every_synced_write_survives_every_crash() {
    let results = under_each_model("raft-engine", |model| {
        crash_test_under(model, "raft-engine", open, step, read).depth(2)
    });
    assert!(results.iter().all(|result| result.ends_with("silent")), "{results:?}");
}
