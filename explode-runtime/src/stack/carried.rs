//! The shell commands that a plan or a trace carries. A person can then decide whether they may
//! run.

use super::spec::StackSpec;
use crate::base::{OptionValue, Options};

/// The options by which a checker made of shell commands is recognised: only such a checker has
/// both.
const COMMAND_CHECKER: [&str; 2] = ["mutate", "check"];

/// Returns true if these are the options of a checker made of shell commands.
pub fn is_of_commands(options: &Options) -> bool {
    COMMAND_CHECKER.iter().all(|key| options.contains(key))
}

/// A shell command and its place in the plan or trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// `LAYER.KEY`, `CHECKER.KEY`, or `CHECKER.mutate NAME`.
    pub place: String,
    /// The command.
    pub text: String,
}

/// Returns the commands of a stack and of its checker, including defaults.
///
/// Any text in the options of such a layer or checker counts as a command. The list may be too long
/// but is never too short.
pub fn carried(stack: &StackSpec, checker: &str, options: &Options) -> Vec<Carried> {
    let mut found = Vec::new();
    for layer in stack.0.iter().filter(|layer| layer.has_commands()) {
        let options = layer.options.effective();
        for (key, value) in
            options.into_iter().filter(|(key, _)| !["recover_ok", "provides"].contains(key))
        {
            texts(&format!("{}.{key}", layer.name), value, &mut found);
        }
    }
    let options = options.effective();
    if COMMAND_CHECKER.iter().all(|key| options.contains_key(key)) {
        for (key, value) in options {
            match value {
                OptionValue::List(alternatives) if key == "mutate" => {
                    alternatives.iter().for_each(|each| alternative(checker, each, &mut found));
                }
                value => texts(&format!("{checker}.{key}"), value, &mut found),
            }
        }
    }
    found
}

/// Adds the commands of one alternative of `mutate`: a table with a name and steps.
fn alternative(checker: &str, alternative: &OptionValue, found: &mut Vec<Carried>) {
    let OptionValue::Table(keys) = alternative else {
        return texts(&format!("{checker}.mutate"), alternative, found);
    };
    let name = keys.get("name").map(ToString::to_string).unwrap_or_default();
    let place = format!("{checker}.mutate {name}");
    keys.iter()
        .filter(|(key, _)| *key != "name")
        .for_each(|(_, steps)| texts(&place, steps, found));
}

/// Adds every text in a value except the arguments of `start`, `end` and `crash`, which no shell
/// runs.
fn texts(place: &str, value: &OptionValue, found: &mut Vec<Carried>) {
    match value {
        OptionValue::Bool(_) | OptionValue::Int(_) => {}
        OptionValue::Text(text) => {
            found.push(Carried { place: place.to_owned(), text: text.clone() })
        }
        OptionValue::List(values) => values.iter().for_each(|value| texts(place, value, found)),
        OptionValue::Table(values) => {
            let arguments = |key: &str| ["start", "end", "crash"].contains(&key);
            let values = values.iter().filter(|(key, _)| !arguments(key));
            values.for_each(|(_, value)| texts(place, value, found));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::COMMANDS;

    fn value(json: &str) -> OptionValue {
        serde_json::from_str(json).unwrap()
    }

    fn listed(stack: &StackSpec, options: &Options) -> Vec<(String, String)> {
        let found = carried(stack, "kept", options).into_iter();
        found.map(|Carried { place, text }| (place, text)).collect()
    }

    fn pair(place: &str, text: &str) -> (String, String) {
        (place.to_owned(), text.to_owned())
    }

    #[test]
    fn every_command_is_listed_once_with_its_place() {
        let mutate = r#"[{ "name": "add", "steps": [
            { "start": ["k{n}"] }, { "sh": "add", "must": true }, { "end": [] } ] }]"#;
        let options = Options::none().with("mutate", value(mutate)).with("check", "look");
        let given = Options::none().with("init", "make").with("provides", "files");
        let given = given.with("recover_ok", value("[0, 1]"));
        let layer = given.with_defaults(Options::none().with("mount", "by default"));
        let stack = StackSpec::default().plug("ramdisk", Options::none().with("size", "1MiB"));
        let stack = stack.plug(COMMANDS, layer);
        let expected = [
            pair("commands.init", "make"),
            pair("commands.mount", "by default"),
            pair("kept.check", "look"),
            pair("kept.mutate add", "add"),
            pair("kept.sig", "dump"),
        ];
        assert_eq!(
            listed(&stack, &options.with_defaults(Options::none().with("sig", "dump"))),
            expected
        );
    }

    #[test]
    fn options_of_explodes_components_are_no_commands() {
        let stack = StackSpec::default()
            .plug("sqlite", Options::none().with("schema", "CREATE TABLE t(v)"));
        assert_eq!(listed(&stack, &Options::none().with("check", "look")), []);
    }
}
