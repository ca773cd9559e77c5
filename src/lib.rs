//! The crate that users of explode depend on: crash tests of a storage engine, and the command
//! line.
//!
//! - [`crash_test`] checks an engine within `cargo test`. It needs no feature.
//! - [`crash_test_command`] checks an unmodified program, with feature `systems`.
//! - [`prelude`], [`runtime`] and [`ramdisk`] have the parts of components and checkers.
//! - Feature `systems`: explode's [`components`] and [`checkers`], in one [`registry()`].
//! - Feature `cli`, on by default: the command line. A program with its own components and checkers
//!   calls [`main`] with a registry that has them. `tests/outside_crate/example` is such a program.
//! - Feature `engines`: more storage engines to check.
//!
//! # Rooms, bottom first
//!
//! - `output`: results and diagnostics on standard output and standard error
//! - `progress`: the progress of a long build
//! - `progress_line`: the progress of a run on a terminal
//! - `required_programs`: the programs that shell commands need
//! - `interrupt`: Ctrl-C
//! - `outputs`: the output files that options name
//! - `junit`: the XML file of `--junit`
//! - `trust`: the user's key, and the files whose commands run without a question
//! - `diagnostics`: spans and lines of log, and the file of `--timeline`
//! - `bench`: measurements of crash disks, restores and tracing
//! - `child_worker`: workers in child processes
//! - `guest`: workers in guests: the host's side and the agent's
//! - `workers`: the workers of runs and replays
//! - `stack_file`: stack files
//! - `times`: times on the command line
//! - `cli`: the arguments of the command line
//! - `worker_cli`: the arguments with which explode starts its own workers
//! - `command_line`: the process's arguments, with those of a stack file
//! - `matrix`: systems by checks, each cell a run
//! - `registry`: all components, checkers and targets
//! - `program`: crash tests of unmodified programs
//! - `commands`: the commands, one file each

#[cfg(feature = "cli")]
pub mod bench;
#[cfg(feature = "cli")]
mod child_worker;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod command_line;
#[cfg(feature = "cli")]
mod commands;
#[cfg(feature = "cli")]
mod diagnostics;
#[cfg(feature = "cli")]
mod guest;
#[cfg(feature = "cli")]
mod interrupt;
#[cfg(feature = "cli")]
mod junit;
#[cfg(feature = "cli")]
mod matrix;
#[cfg(feature = "cli")]
mod output;
#[cfg(feature = "cli")]
mod outputs;
#[cfg(feature = "systems")]
mod program;
#[cfg(feature = "cli")]
mod progress;
#[cfg(feature = "cli")]
mod progress_line;
#[cfg(feature = "systems")]
mod registry;
#[cfg(feature = "cli")]
mod required_programs;
#[cfg(feature = "cli")]
mod stack_file;
#[cfg(feature = "cli")]
mod times;
#[cfg(feature = "cli")]
mod trust;
#[cfg(feature = "cli")]
mod worker_cli;
#[cfg(feature = "cli")]
mod workers;

#[cfg(feature = "systems")]
pub use explode_checkers as checkers;
#[cfg(feature = "systems")]
pub use explode_cluster as cluster;
#[cfg(feature = "systems")]
pub use explode_components as components;
pub use explode_ramdisk as ramdisk;
pub use explode_runtime as runtime;
pub use explode_runtime::{crash_test, prelude};
#[cfg(feature = "systems")]
pub use program::crash_test_command;
#[cfg(feature = "systems")]
pub use registry::registry;

/// Runs the command line: parses the process's arguments, runs the command, and returns the exit
/// code.
#[cfg(feature = "cli")]
pub fn main(registry: &runtime::plan::Registry) -> std::process::ExitCode {
    use runtime::base::Exit;
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(cli) = command_line::of_worker(&arguments) {
        return commands::work_for_supervisor(registry, &cli).into();
    }
    let exit = match command_line::parse(registry, arguments) {
        Ok(cli) => commands::dispatch(registry, &cli),
        Err(error) => output::fail(Exit::Usage, error),
    };
    exit.into()
}
