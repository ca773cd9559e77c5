//! The supervisor and its workers from a user's view: steps that hang or end their process, workers
//! that are killed, runs that are killed and resumed, Ctrl-C.
//!
//! This program is explode itself, with a checker and a component that misbehave if their options
//! say so, and also its tests. Without arguments of explode it runs the tests. Each test starts
//! this program as explode.

#[path = "../common/mod.rs"]
mod common;

mod commands;
mod deaths;
mod frail;
mod guests;
mod interrupts;
mod kernel;
mod killed;
mod progress;
mod slow;
mod terminal;
mod trouble;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let commands = ["run", "replay", "worker", "agent", "matrix"];
    if std::env::args().nth(1).is_some_and(|word| commands.contains(&word.as_str())) {
        return explode::main(&frail::registry());
    }
    let trials = [
        commands::trials(),
        deaths::trials(),
        guests::trials(),
        interrupts::trials(),
        killed::trials(),
        progress::trials(),
        slow::trials(),
        terminal::trials(),
        trouble::trials(),
    ];
    let trials = trials.into_iter().flatten().collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Returns a test that fails if it panics.
fn trial(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}
