//! `[checker]`: a checker of explode, or one made of shell commands.

use std::collections::BTreeMap;

use explode_checkers::command::{check_arguments, check_intervals};
use explode_components::command::{CommandOwner, check_placeholders};
use explode_runtime::base::{OptionValue, Options, UsageError};
use explode_runtime::plan::Registry;

use super::components::{command, name, used_options};
use super::document::{Table, Value};

/// The keys of a checker made of commands.
const KEYS: [&str; 5] = ["name", "mutate", "check", "resident", "sig"];
/// The kinds of steps.
const STEPS: [&str; 4] = ["start", "sh", "end", "crash"];

/// Returns its name and options.
pub fn checker(registry: &Registry, table: &Table<'_>) -> Result<(String, Options), UsageError> {
    let Some(used) = table.get("use") else { return commands(registry, table) };
    let named = used.text()?;
    let def = registry.checker(named).map_err(|error| used.error(error))?;
    let strange = |key: &&&str| {
        table.get(key).is_some() && !def.options.iter().any(|option| option.name == **key)
    };
    if let Some(key) = KEYS.iter().find(strange) {
        let text =
            format!("a checker has 'use' or shell commands, and this one has 'use' and '{key}'");
        return Err(table.key_error(key, text));
    }
    table.only(["use"].into_iter().chain(def.options.iter().map(|option| option.name)))?;
    let options = used_options(table, &["use"], |options| def.make(options).map(drop))?;
    Ok((named.to_owned(), options))
}

fn commands(registry: &Registry, table: &Table<'_>) -> Result<(String, Options), UsageError> {
    table.only(["use"].into_iter().chain(KEYS))?;
    let name = name(table, None)?;
    if registry.checkers.iter().any(|def| def.name == name) {
        return Err(table
            .key_error("name", format!("there is a checker '{name}' already; take another name")));
    }
    table.required("check")?;
    let missing = || {
        table.error(
            "the checker needs the key 'mutate': what can be done, as a list of alternatives",
        )
    };
    let mutate = table.get("mutate").ok_or_else(missing)?;
    let alternatives =
        mutate.list()?.map(|value| alternative(&value)).collect::<Result<Vec<_>, _>>()?;
    if alternatives.is_empty() {
        return Err(mutate.error("'mutate' has no alternative; write at least one"));
    }
    for (index, value) in mutate.list()?.enumerate() {
        let table = value.table()?;
        let name = table.required("name")?;
        let names = mutate.list()?.take(index).map(|value| value.table()?.required("name"));
        if names.collect::<Result<Vec<_>, _>>()?.contains(&name) {
            return Err(
                table.key_error("name", format!("there is an alternative '{name}' already"))
            );
        }
    }
    let mut options = Options::none().with("mutate", OptionValue::List(alternatives));
    for key in ["check", "sig"] {
        if let Some(value) = table.get(key) {
            options = options.with(key, command(&value, CommandOwner::Check)?);
        }
    }
    if let Some(value) = table.get("resident") {
        options = options.with("resident", value.bool()?);
    }
    Ok((name, options))
}

fn alternative(value: &Value<'_>) -> Result<OptionValue, UsageError> {
    let table = value.table()?;
    table.only(["name", "steps"])?;
    let name = name(&table, None)?;
    let missing = || table.error(format!("the alternative '{name}' needs the key 'steps', a list"));
    let list = table.get("steps").ok_or_else(missing)?;
    let steps = list.list()?.map(|value| step(&value)).collect::<Result<Vec<_>, _>>()?;
    check_intervals(steps.iter().map(|(word, _)| *word)).map_err(|(index, error)| {
        let at = list.list().ok().and_then(|mut steps| steps.nth(index));
        at.map_or_else(|| list.error(&error), |step| step.error(&error))
    })?;
    let steps = steps.into_iter().map(|(_, step)| step).collect();
    Ok(of([("name", OptionValue::Text(name)), ("steps", OptionValue::List(steps))]))
}

/// Returns a step with its kind.
fn step(value: &Value<'_>) -> Result<(&'static str, OptionValue), UsageError> {
    let table = value.table()?;
    table.only(STEPS.into_iter().chain(["must"]))?;
    let found: Vec<&str> = STEPS.into_iter().filter(|key| table.get(key).is_some()).collect();
    let [word] = found.as_slice() else {
        return Err(table.error(format!(
            "a step is one of {}; this one has {}",
            STEPS.join(", "),
            found.len()
        )));
    };
    let word = *word;
    let content = table.get(word).expect("it was just found");
    if word != "sh" {
        if table.get("must").is_some() {
            return Err(table.key_error("must", "only a step with 'sh' can have 'must'"));
        }
        let arguments =
            content.list()?.map(|value| argument(&value)).collect::<Result<Vec<_>, _>>()?;
        return Ok((word, of([(word, OptionValue::List(arguments))])));
    }
    let command = command(&content, CommandOwner::Step)?;
    let step = match table.get("must") {
        None => of([(word, command)]),
        Some(must) => of([(word, command), ("must", must.bool()?.into())]),
    };
    Ok((word, step))
}

fn argument(value: &Value<'_>) -> Result<OptionValue, UsageError> {
    let text = value.text()?;
    let checked =
        check_arguments([text]).and_then(|()| check_placeholders(text, CommandOwner::Argument));
    checked.map_err(|error| value.error(error))?;
    Ok(text.into())
}

fn of<const N: usize>(entries: [(&str, OptionValue); N]) -> OptionValue {
    OptionValue::Table(
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<BTreeMap<_, _>>(),
    )
}
