//! Options of components and checkers, and what is said of a wrong one.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Wrong usage: exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    /// A name that is not there, with the nearest one that is.
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> UsageError {
        let known: Vec<&str> = known.into_iter().collect();
        let distance = |candidate: &&&str| strsim::damerau_levenshtein(name, candidate);
        let near = known.iter().min_by_key(distance).filter(|found| distance(found) <= 1 + name.len() / 3);
        let hint = match near {
            Some(near) => format!("; did you mean '{near}'?"),
            None if known.is_empty() => format!("; there is no {what} to name"),
            None => format!("; one of: {}", known.join(", ")),
        };
        UsageError(format!("unknown {what} '{name}'{hint}"))
    }
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "an option is true or false, a number up to 2^64 - 1, text, or a list or table of these"
)]
pub enum OptionValue {
    /// Yes or no.
    Bool(bool),
    /// A number.
    Int(u64),
    /// A word.
    Text(String),
    /// Several, in order.
    List(Vec<OptionValue>),
    /// Several, by name.
    Table(BTreeMap<String, OptionValue>),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Bool(value) => value.fmt(f),
            OptionValue::Int(value) => value.fmt(f),
            OptionValue::Text(value) => value.fmt(f),
            OptionValue::List(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
            OptionValue::Table(values) => {
                let values: Vec<String> =
                    values.iter().map(|(key, value)| format!("{key}={value}")).collect();
                write!(f, "{{{}}}", values.join(", "))
            }
        }
    }
}

impl From<&str> for OptionValue {
    fn from(value: &str) -> OptionValue {
        OptionValue::Text(value.to_owned())
    }
}

impl From<u64> for OptionValue {
    fn from(value: u64) -> OptionValue {
        OptionValue::Int(value)
    }
}

impl From<u32> for OptionValue {
    fn from(value: u32) -> OptionValue {
        OptionValue::Int(value.into())
    }
}

impl From<bool> for OptionValue {
    fn from(value: bool) -> OptionValue {
        OptionValue::Bool(value)
    }
}

/// An option that a component or checker has.
#[derive(Clone, Copy, Debug)]
pub struct OptionDef {
    /// Its name.
    pub name: &'static str,
    /// What it is, with its values.
    pub about: &'static str,
    /// Its default, as it would be written.
    pub default: &'static str,
}

/// The options that were given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options(BTreeMap<String, OptionValue>);

impl Options {
    /// None given.
    pub fn none() -> Options {
        Options::default()
    }

    /// One more.
    #[must_use = "this returns the longer set of options"]
    pub fn with(mut self, name: &str, value: impl Into<OptionValue>) -> Options {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// None given?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Was this one given?
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value of an option, if it was given.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.0.get(name)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Every name must be one of `known`; `what` has them.
    pub fn check(&self, what: &str, known: &[OptionDef]) -> Result<(), UsageError> {
        let names = || known.iter().map(|def| def.name);
        let wrong = self.0.keys().find(|name| !names().any(|known| known == name.as_str()));
        wrong.map_or(Ok(()), |name| Err(UsageError::unknown(&format!("option of {what}"), name, names())))
    }

    /// All of them, as a structure that has their names; `what` has them.
    pub fn parse<T: DeserializeOwned>(&self, what: &str) -> Result<T, UsageError> {
        let value = serde_json::to_value(self).expect("options are plain data");
        serde_json::from_value(value).map_err(|error| UsageError(format!("{what}: {error}")))
    }

    /// A number, or the default.
    pub fn int(&self, name: &str, default: u64) -> Result<u64, UsageError> {
        match self.0.get(name) {
            None => Ok(default),
            Some(OptionValue::Int(value)) => Ok(*value),
            Some(other) => Err(UsageError(format!("option '{name}' needs a number, and is '{other}'"))),
        }
    }

    /// Yes or no, or the default.
    pub fn bool(&self, name: &str, default: bool) -> Result<bool, UsageError> {
        match self.0.get(name) {
            None => Ok(default),
            Some(OptionValue::Bool(value)) => Ok(*value),
            Some(other) => Err(UsageError(format!("option '{name}' needs true or false, and is '{other}'"))),
        }
    }

    /// Any text, or the default.
    pub fn text(&self, name: &str, default: &str) -> Result<String, UsageError> {
        Ok(self.0.get(name).map_or_else(|| default.to_owned(), ToString::to_string))
    }

    /// One of some words; the first is the default.
    pub fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, UsageError> {
        match self.0.get(name) {
            None => Ok(words[0].1),
            Some(given) => {
                let found = words.iter().find(|(word, _)| *word == given.to_string());
                let known = words.iter().map(|(word, _)| *word);
                let unknown = || UsageError::unknown(&format!("{name} setting"), &given.to_string(), known);
                found.map(|(_, value)| *value).ok_or_else(unknown)
            }
        }
    }
}
