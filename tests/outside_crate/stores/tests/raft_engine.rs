//! raft-engine: TiKV's log.

use std::path::Path;

use explode_posix::{Result, Step, crash_test};
use raft_engine::{Config, Engine, LogBatch};

fn open(folder: &Path) -> Result<Engine> {
    let dir = folder.join("raft").to_string_lossy().into_owned();
    Ok(Engine::open(Config { dir, ..Config::default() })?)
}

fn step(engine: &mut Engine, numbers: &mut Vec<u8>, step: &mut Step<'_, '_>) -> Result<()> {
    numbers.push(1 + step.choose(2) as u8);
    let mut batch = LogBatch::default();
    batch.put(1, vec![numbers.len() as u8], vec![numbers[numbers.len() - 1]])?;
    engine.write(&mut batch, true)?;
    Ok(())
}

fn read(engine: &mut Engine) -> Result<Vec<u8>> {
    let found = (1..=20).map_while(|key| engine.get(1, &[key])).map(|value| value[0]);
    Ok(found.collect())
}

#[test]
fn every_write_survives_every_crash() {
    println!("{:#?}", crash_test("raft-engine", open, step, read).depth(2).run());
}
