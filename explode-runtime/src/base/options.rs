//! Options of components and checkers, and what is said of a wrong one.
//!
//! Invariant: a default has the value that a run had. What was not given is looked up among the
//! defaults that came with the options (those of the run that a trace is of), before the
//! component's own are taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::option_value::OptionValue;

/// Wrong usage: exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    /// A name that is not there, with the nearest one that is.
    pub fn unknown<'a>(
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> UsageError {
        let known: Vec<&str> = known.into_iter().collect();
        let distance = |candidate: &&&str| strsim::damerau_levenshtein(name, candidate);
        let near =
            known.iter().min_by_key(distance).filter(|found| distance(found) <= 1 + name.len() / 3);
        let hint = match near {
            Some(near) => format!("; did you mean '{near}'?"),
            None if known.is_empty() => format!("; there is no {what} to name"),
            None => format!("; one of: {}", known.join(", ")),
        };
        UsageError(format!("unknown {what} '{name}'{hint}"))
    }
}

/// Makes a component or checker of its options. It may capture what it needs, and is called in
/// every worker.
pub type Factory<T> = Arc<dyn Fn(&Options) -> Result<Box<T>, UsageError> + Send + Sync>;

/// An option that a component or checker has.
#[derive(Clone, Copy, Debug)]
pub struct OptionDef {
    /// Its name.
    pub name: &'static str,
    /// What it is, with its values.
    pub about: &'static str,
    /// Its default, as it would be written; empty if nothing is there unless it is set.
    pub default: &'static str,
}

impl OptionDef {
    /// The value of its default, if it has one.
    fn value(&self) -> Option<OptionValue> {
        let value = || serde_json::from_str(self.default).unwrap_or_else(|_| self.default.into());
        (!self.default.is_empty()).then(value)
    }
}

/// The options that were given, and what holds for the others. Written are those that were given;
/// [`with_defaults`] is for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options {
    given: BTreeMap<String, OptionValue>,
    #[serde(skip)]
    defaults: BTreeMap<String, OptionValue>,
}

/// Options written with what holds for those that were not given.
pub mod with_defaults {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Options;

    /// The first are given, the second default.
    pub fn serialize<S: Serializer>(options: &Options, serializer: S) -> Result<S::Ok, S::Error> {
        (options, options.defaults()).serialize(serializer)
    }

    /// As they were written.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Options, D::Error> {
        let (given, defaults) = <(Options, Options)>::deserialize(deserializer)?;
        Ok(given.with_defaults(defaults))
    }
}

impl Options {
    /// None given.
    pub fn none() -> Options {
        Options::default()
    }

    /// One more.
    #[must_use = "this returns the longer set of options"]
    pub fn with(mut self, name: &str, value: impl Into<OptionValue>) -> Options {
        self.given.insert(name.to_owned(), value.into());
        self
    }

    /// None given?
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Was this one given?
    pub fn contains(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// The value of an option, if it was given or has one by default.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.given.get(name).or_else(|| self.defaults.get(name))
    }

    /// What holds for those that were not given, as far as it is known.
    pub fn defaults(&self) -> Options {
        Options { given: self.defaults.clone(), defaults: BTreeMap::new() }
    }

    /// The same, with what holds for those that were not given.
    #[must_use = "this returns the options with these defaults"]
    pub fn with_defaults(self, defaults: Options) -> Options {
        Options { defaults: defaults.given, ..self }
    }

    /// The same, with the defaults of `known` for all that neither was given nor has one. Left out
    /// is one that could not be given beside the rest, as `allows` says: it is in place of another,
    /// and has no effect.
    pub(crate) fn completed(
        &self,
        known: &[OptionDef],
        allows: impl Fn(&Options) -> bool,
    ) -> Options {
        let mut all = self.clone();
        for (name, value) in known.iter().filter_map(|def| Some((def.name, def.value()?))) {
            if self.get(name).is_none() && allows(&self.clone().with(name, value.clone())) {
                all.defaults.insert(name.to_owned(), value);
            }
        }
        all
    }

    /// All values that are known, by name.
    pub fn effective(&self) -> BTreeMap<&str, &OptionValue> {
        self.defaults
            .iter()
            .chain(&self.given)
            .map(|(name, value)| (name.as_str(), value))
            .collect()
    }

    /// Names and values of those that were given, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.given.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Every name that was given must be one of `known`; `what` has them.
    pub fn check(&self, what: &str, known: &[OptionDef]) -> Result<(), UsageError> {
        let names = || known.iter().map(|def| def.name);
        let wrong = self.given.keys().find(|name| !names().any(|known| known == name.as_str()));
        wrong.map_or(Ok(()), |name| {
            Err(UsageError::unknown(&format!("option of {what}"), name, names()))
        })
    }

    /// All of them, as a structure that has their names; `what` has them.
    pub fn parse<T: DeserializeOwned>(&self, what: &str) -> Result<T, UsageError> {
        let value = serde_json::to_value(self.effective()).expect("options are plain data");
        serde_json::from_value(value).map_err(|error| UsageError(format!("{what}: {error}")))
    }

    /// A number, or the default.
    pub fn int(&self, name: &str, default: u64) -> Result<u64, UsageError> {
        match self.get(name) {
            None => Ok(default),
            Some(OptionValue::Int(value)) => Ok(*value),
            Some(other) => {
                Err(UsageError(format!("option '{name}' needs a number, and is '{other}'")))
            }
        }
    }

    /// Yes or no, or the default.
    pub fn bool(&self, name: &str, default: bool) -> Result<bool, UsageError> {
        match self.get(name) {
            None => Ok(default),
            Some(OptionValue::Bool(value)) => Ok(*value),
            Some(other) => {
                Err(UsageError(format!("option '{name}' needs true or false, and is '{other}'")))
            }
        }
    }

    /// Any text, or the default.
    pub fn text(&self, name: &str, default: &str) -> Result<String, UsageError> {
        Ok(self.get(name).map_or_else(|| default.to_owned(), ToString::to_string))
    }

    /// One of some words; the first is the default.
    pub fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, UsageError> {
        match self.get(name) {
            None => Ok(words[0].1),
            Some(given) => {
                let given = given.as_word();
                let found = words.iter().find(|(word, _)| *word == given);
                let known = words.iter().map(|(word, _)| *word);
                let unknown = || UsageError::unknown(&format!("{name} setting"), &given, known);
                found.map(|(_, value)| *value).ok_or_else(unknown)
            }
        }
    }
}
