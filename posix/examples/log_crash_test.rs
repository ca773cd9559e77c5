//! Every appended line survives every crash.
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use explode_posix::{Result, Step, crash_test};

fn open(dir: &Path) -> Result<PathBuf> {
    let log = dir.join("log");
    OpenOptions::new().append(true).create(true).open(&log)?;
    File::open(dir)?.sync_all()?;
    Ok(log)
}
fn step(log: &mut PathBuf, lines: &mut Vec<String>, step: &mut Step<'_, '_>) -> Result<()> {
    lines.push(["one", "two"][step.choose(2)].to_owned());
    let mut file = OpenOptions::new().append(true).open(&*log)?;
    writeln!(file, "{}", lines[lines.len() - 1])?;
    Ok(file.sync_data()?)
}
fn read(log: &mut PathBuf) -> Result<Vec<String>> {
    let bytes = fs::read(&*log)?;
    // A crash can leave the new size without the new line.
    let text = String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or(&[]));
    Ok(text.lines().map(str::to_owned).collect())
}
#[test]
fn every_line_survives_every_crash() {
    crash_test("log", open, step, read).depth(3).run();
}
