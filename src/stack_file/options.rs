//! `[run]`: long options of `explode run`, with `_` for `-`.

use clap::{Arg, ArgAction, Command};
use explode_runtime::base::{OptionValue, UsageError};
use itertools::Itertools as _;

use super::document::{Table, Value};

/// The options that a file cannot set: the file itself is the stack, and help is for people.
const COMMAND_LINE_ONLY: [&str; 2] = ["stack", "help"];

/// Returns the options as arguments of the command line, each checked.
pub fn arguments(mut cli: Command, table: &Table<'_>) -> Result<Vec<String>, UsageError> {
    let run = cli.find_subcommand_mut("run").expect("it is one of the commands");
    run.build();
    let key = |arg: &Arg| arg.get_long().map(|long| long.replace('-', "_"));
    let known: Vec<(String, &Arg)> = run
        .get_arguments()
        .filter_map(|arg| Some((key(arg)?, arg)))
        .filter(|(key, _)| !COMMAND_LINE_ONLY.contains(&&**key))
        .collect();
    if table.get("stack").is_some() {
        return Err(
            table.key_error("stack", "the file is the stack; its layers stand in [[component]]")
        );
    }
    let mut arguments = Vec::new();
    for name in table.keys() {
        let Some((_, arg)) = known.iter().find(|(key, _)| key == name) else {
            let keys = known.iter().map(|(key, _)| key.as_str());
            return Err(table.key_error(name, UsageError::unknown("key of run", name, keys)));
        };
        let value = table.get(name).expect("it is one of the keys");
        let new = values(arg, &value)?;
        check(run, &new).map_err(|error| value.error(error))?;
        arguments.extend(new);
    }
    Ok(arguments)
}

fn values(arg: &Arg, value: &Value<'_>) -> Result<Vec<String>, UsageError> {
    let long = arg.get_long().expect("only options with a long name are known");
    let word = |value: &OptionValue| format!("--{long}={value}");
    match arg.get_action() {
        ArgAction::SetTrue => Ok(value.bool()?.then(|| format!("--{long}")).into_iter().collect()),
        ArgAction::Append => value.list()?.map(|value| Ok(word(&value.text()?.into()))).collect(),
        _ => Ok(vec![word(&value.option()?)]),
    }
}

/// Checks that the command line accepts these arguments.
fn check(run: &Command, arguments: &[String]) -> Result<(), String> {
    let words = ["run", "target"].into_iter().map(str::to_owned).chain(arguments.iter().cloned());
    run.clone().try_get_matches_from(words).map(drop).map_err(|error| {
        let text = error.to_string();
        let mut lines = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("For more"))
            .filter(|line| !line.is_empty());
        lines.join("; ").trim_start_matches("error: ").to_owned()
    })
}
