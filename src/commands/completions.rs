//! `explode completions`: completions for shells, with the names of the registry.

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory as _};
use explode_runtime::base::Exit;
use explode_runtime::plan::Registry;

use crate::cli::{Cli, CompletionsArgs};
use crate::output;

/// Prints a script that completes commands, options, targets, checkers and components.
pub fn completions(registry: &Registry, args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(registry), "explode", &mut script);
    match String::from_utf8(script) {
        Ok(script) => {
            output::line(script.trim_end());
            Exit::Clean
        }
        Err(error) => output::fail(Exit::Broken, error),
    }
}

/// Returns the command line with the registry's names as the values of arguments that take a name.
/// It serves completions only, because stack files are not among these values.
fn command(registry: &Registry) -> Command {
    let targets = registry.targets.iter().map(|target| target.name.to_string());
    let checkers = registry.checkers.iter().map(|checker| checker.name.to_string());
    let runs: Vec<String> = targets.chain(checkers).collect();
    let components: Vec<String> =
        registry.components.iter().map(|component| component.name.to_string()).collect();
    let names = |names: &[String]| PossibleValuesParser::new(names.to_vec());
    let on = |command: Command, argument: &'static str| {
        command
            .mut_arg(argument, |argument| argument.value_parser(names(&runs)))
            .mut_arg("stack", |stack| stack.value_parser(names(&components)))
    };
    Cli::command()
        .mut_subcommand("run", |run| on(run, "target"))
        .mut_subcommand("bench", |bench| on(bench, "targets"))
}
