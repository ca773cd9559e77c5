//! `explode minimise` and `explode show` on traces whose smallest form and critical write are
//! known.
//!
//! This program is explode itself with toy systems, and also its tests. Without arguments of
//! explode it runs the tests. Each test starts this program as explode.

#[path = "../common/mod.rs"]
mod common;

mod critical;
mod guest;
mod minimise;
mod show;
mod toys;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;

use common::{Ran, files, ran};

fn main() -> ExitCode {
    let commands = ["run", "replay", "show", "minimise", "minimize", "worker", "agent"];
    if std::env::args().nth(1).is_some_and(|word| commands.contains(&word.as_str())) {
        return explode::main(&toys::registry());
    }
    let trials = [minimise::trials(), critical::trials(), show::trials(), guest::trials()];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}

/// Returns a test that fails if it panics.
fn trial(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

/// Runs this program as explode, in a folder, with arguments separated by spaces.
fn explode(folder: &Path, args: &str) -> Ran {
    ran(Command::new("/proc/self/exe").args(args.split_whitespace()).current_dir(folder))
}

/// Runs a target. Returns the paths of the traces of its findings.
#[track_caller]
fn found(folder: &Path, args: &str) -> Vec<PathBuf> {
    explode(folder, &format!("run {args} --out run --format jsonl")).expect(1);
    files(&folder.join("run/traces"))
        .iter()
        .map(|name| Path::new("run/traces").join(name))
        .collect()
}

/// Returns the only trace of this promise that a run finds.
#[track_caller]
fn trace_of(folder: &Path, args: &str, promise: &str) -> PathBuf {
    let traces = found(folder, args);
    let is_wanted = |path: &&PathBuf| {
        let signature = read(&folder.join(path))["signature"].clone();
        signature.as_str().is_some_and(|signature| signature.ends_with(&format!("/{promise}")))
    };
    traces.iter().find(is_wanted).unwrap_or_else(|| panic!("no {promise} in {traces:?}")).clone()
}

/// Reads a JSON file.
#[track_caller]
fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns the only line that a command prints with `--format jsonl`.
#[track_caller]
fn line(folder: &Path, code: i32, args: &str) -> Value {
    let lines = explode(folder, &format!("{args} --format jsonl")).expect(code).json();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].clone()
}
