//! Tests both kernel modules in a guest as root. `rdd` and `ekm` must be loaded, and no other
//! process may use them.
//!
//! Prints one line for each case: `ok`, `skip` (a tool is missing) or `FAILED`, and costs. The last
//! line is the summary. The exit code is 1 if a case failed. The cases about file systems need
//! `mkfs.ext2`, `mkfs.ext4`, `mkfs.vfat`, `mkfs.minix` and a writable `/tmp`. The optional argument
//! selects the cases whose name contains it.
#![expect(clippy::print_stdout, reason = "it prints a line a case to the console")]

mod calls;
mod choices;
mod control;
mod device;
mod disks;
mod systems;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The result of a case that does not panic.
pub(crate) enum Outcome {
    /// The case passes.
    Good,
    /// The case passes, with a remark.
    Note(String),
    /// The case needs something that is missing.
    Skip(String),
}

/// The name of a case, and its function.
pub(crate) type Case = (&'static str, fn() -> Outcome);

fn main() -> ExitCode {
    let only = std::env::args().nth(1).unwrap_or_default();
    let cases: Vec<Case> =
        [disks::CASES, calls::CASES, choices::CASES, control::CASES, systems::CASES].concat();
    let (mut good, mut skipped, mut failed) = (0, 0, 0);
    for (name, case) in cases.into_iter().filter(|(name, _)| name.contains(&only)) {
        match catch_unwind(AssertUnwindSafe(case)) {
            Ok(Outcome::Good) => {
                good += 1;
                println!("ok {name}");
            }
            Ok(Outcome::Note(note)) => {
                good += 1;
                println!("ok {name}: {note}");
            }
            Ok(Outcome::Skip(why)) => {
                skipped += 1;
                println!("skip {name}: {why}");
            }
            Err(_) => {
                failed += 1;
                println!("FAILED {name}");
            }
        }
    }
    println!("selftest: {good} ok, {skipped} skipped, {failed} failed");
    ExitCode::from(u8::from(failed != 0))
}
