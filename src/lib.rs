//! The command line of explode, as a library: a program with components and checkers of its own
//! calls [`main`] with a registry that has them. It needs no other crate of ours: [`runtime`] has
//! what components and checkers are made of, [`ramdisk`] the files and disks that they use.
//! `tests/outside_crate/example` is such a program.
//!
//! # Rooms, bottom first
//!
//! - `output`: results and diagnostics on standard output and standard error
//! - `progress`: the progress of a long build
//! - `running`: the progress of a run on a terminal
//! - `programs`: the programs that shell commands need
//! - `interrupt`: Ctrl-C
//! - `outputs`: the output files that options name
//! - `junit`: the XML file of `--junit`
//! - `trust`: the user's key, and the files whose commands run without a question
//! - `bench`: measurements of crash disks, restores and tracing
//! - `worker`: workers in child processes
//! - `guest`: workers in guests: the host's side and the agent's
//! - `crew`: the workers of runs and replays
//! - `stack_file`: stack files
//! - `cli`: the arguments of the command line
//! - `command_line`: the process's arguments, with those of a stack file
//! - `matrix`: systems by checks, each cell a run
//! - `registry`: all components, checkers and targets
//! - `commands`: the commands, one file each

pub mod bench;
mod cli;
mod command_line;
mod commands;
mod crew;
mod guest;
mod interrupt;
mod junit;
mod matrix;
mod output;
mod outputs;
mod programs;
mod progress;
mod registry;
mod running;
mod stack_file;
mod trust;
mod worker;

use std::process::ExitCode;

use explode_runtime::base::Exit;
use explode_runtime::plan::Registry;

pub use explode_ramdisk as ramdisk;
pub use explode_runtime as runtime;
pub use registry::registry;

/// Runs the command line: parses the process's arguments, does what they say, and returns the exit
/// code.
pub fn main(registry: &Registry) -> ExitCode {
    let exit = match command_line::parse(registry, std::env::args_os().collect()) {
        Ok(cli) => commands::dispatch(registry, &cli.command),
        Err(error) => output::fail(Exit::Usage, error),
    };
    exit.into()
}
