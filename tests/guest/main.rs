//! Cases that need a guest: one boot for all that run in it, then those that boot other guests.
//!
//! This program is both sides: the test on the host, and the agent of the guest that it boots. In
//! the guest it runs the [`cases`] and reports the result of each. On the host it also runs the
//! cases of the [`host`].

#![expect(clippy::print_stdout, reason = "a test program that says how its cases end")]

#[path = "../common/mod.rs"]
mod common;

mod arrays;
mod breadth;
mod bugs;
mod cases;
mod directed;
mod held_still;
mod host;
mod kernel_asks;
mod kernel_choices;
mod kernel_sites;
mod late;
mod late_choice;
mod log_writes;
mod matrix;
mod options;
mod overlay;
mod programs_ask;
mod report;
mod skipping;
mod soft;
mod strict;
mod threads;
mod walks;
mod ways;

/// The argument by which the program knows that it is in the guest.
const IN_GUEST: &str = "in-guest";

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next() {
        Some(word) if word == IN_GUEST => {
            cases::all(&arguments.next().unwrap_or_default());
            std::process::ExitCode::SUCCESS
        }
        first => host::main(first.into_iter().chain(arguments).find(|word| !word.starts_with('-'))),
    }
}
