//! Every count survives every crash.
use std::io;
use std::rc::Rc;

use counters::{Counters, Storage};
use explode::crash_test::{Fd, Files, OpenFlags, Result, Step, crash_test};

/// The engine's file, one of the simulated files.
struct File(Rc<dyn Files>, Fd);

impl Storage for File {
    fn read(&self) -> io::Result<Vec<u8>> {
        Ok(self.0.read_file("/counters")?)
    }
    fn append(&self, at: usize, bytes: &[u8]) -> io::Result<()> {
        Ok(self.0.pwrite(self.1, at as u64, bytes)?)
    }
    fn sync(&self) -> io::Result<()> {
        Ok(self.0.fsync(self.1)?)
    }
}

fn open(files: Rc<dyn Files>) -> Result<Counters<File>> {
    let file = files.open("/counters", OpenFlags::CREATE)?;
    files.sync_dir("/")?;
    Ok(Counters::open(File(files, file))?)
}
type State = Vec<u8>;

fn step(counters: &mut Counters<File>, counts: &mut State, step: &mut Step<'_, '_>) -> Result<()> {
    counts.push(1 + step.choose(2) as u8);
    Ok(counters.count(counts[counts.len() - 1])?)
}
fn read(counters: &mut Counters<File>) -> Result<State> {
    Ok(counters.records().to_vec())
}

#[test]
fn every_count_survives_every_crash() {
    crash_test("counters", open, step, read).depth(3).run();
}
