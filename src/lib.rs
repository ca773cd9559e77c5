//! The command line of explode, as a library: a program with components and checkers of its own calls [`main`] with a registry
//! that has them. It needs no other crate of ours: [`runtime`] has what components and checkers are made of, [`ramdisk`] the files
//! and disks that they use. `tests/outside_crate/example` is such a program.

pub mod bench;
mod cli;
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

/// Runs the command line: parses the process's arguments, does what they say, and returns the exit code.
pub fn main(registry: &Registry) -> ExitCode {
    let exit = match stack_file::command_line(registry, std::env::args_os().collect()) {
        Ok(cli) => commands::dispatch(registry, &cli.command),
        Err(error) => output::fail(Exit::Usage, error),
    };
    exit.into()
}
