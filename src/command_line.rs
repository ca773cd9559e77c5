//! The process's arguments, joined with those of the stack file that they name.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};
use explode_runtime::base::UsageError;
use explode_runtime::plan::Registry;
use explode_runtime::report::escaped;

use crate::cli::{Cli, Command};
use crate::output;
use crate::stack_file::{StackFile, is_path};
use crate::worker_cli::WorkerCli;

/// Parses the arguments with which explode starts a worker. `None` for a user's command.
///
/// Each worker of a guest parses them in an emulated machine, where building the parser of all
/// commands takes a quarter of a second.
pub fn of_worker(arguments: &[OsString]) -> Option<WorkerCli> {
    let is_worker = |word: &OsString| word == "agent" || word == "worker";
    let is_for_worker = arguments.get(1).is_some_and(is_worker);
    is_for_worker.then(|| {
        WorkerCli::try_parse_from(arguments).unwrap_or_else(|error| refuse(&error, arguments))
    })
}

/// Parses the command line with the options of the stack file that it names. The options of the
/// command line come last and override those of the file.
///
/// # Errors
/// The stack file is not valid, or `--stack` is given although the target is a stack file.
pub fn parse(registry: &Registry, arguments: Vec<OsString>) -> Result<Cli, UsageError> {
    let cli = Cli::try_parse_from(&arguments).unwrap_or_else(|error| refuse(&error, &arguments));
    let (name, args) = match &cli.command {
        Command::Run(args) => ("run", &**args),
        Command::Compare(args) => ("compare", &args.run),
        _ => return Ok(cli),
    };
    let Some(target) = &args.target else { return Ok(cli) };
    let named = match &args.stack.stack {
        Some(stack) if is_path(target) => {
            return Err(UsageError(format!("{target} is a stack already; omit --stack {stack}")));
        }
        Some(stack) if is_path(stack) => stack,
        None if is_path(target) => target,
        _ => return Ok(cli),
    };
    let file = StackFile::read(registry, Cli::command, Path::new(named))?;
    // The options of the file go right after the command, the first word that is no option.
    let command = arguments.iter().position(|word| word == name);
    let (before, after) = arguments.split_at(command.map_or(arguments.len(), |at| at + 1));
    let own = file.arguments.iter().map(OsString::from);
    let words: Vec<OsString> =
        before.iter().cloned().chain(own).chain(after.iter().cloned()).collect();
    let command = Cli::command().mut_subcommand(name, |command| command.args_override_self(true));
    let matches = command.try_get_matches_from(&words);
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let mut cli = cli.unwrap_or_else(|error| refuse(&error, &words));
    match &mut cli.command {
        Command::Run(args) => args.stack.file = Some(file),
        Command::Compare(args) => args.run.stack.file = Some(file),
        _ => {}
    }
    Ok(cli)
}

/// Ends the program with an error about these arguments, or with help. An argument may be a file
/// name or a value from a stack file. If one has control characters, the error is printed escaped
/// and without colours.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> ! {
    let plain = |word: &OsString| escaped(&word.to_string_lossy()) == word.to_string_lossy();
    if !error.use_stderr() || arguments.iter().all(plain) {
        error.exit();
    }
    output::note(error.render().to_string().trim_end());
    std::process::exit(error.exit_code());
}
