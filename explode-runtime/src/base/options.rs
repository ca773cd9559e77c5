//! The options of components and checkers, and the errors of wrong usage.
//!
//! Invariant: an option that is not given has the same value in a replay as in the run. It comes
//! from the defaults that are stored with the options (those of the run that made the trace). Only
//! if they lack it, the component's current default is used.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::option_value::OptionValue;

/// The largest number of known names that an error lists. Of more it lists the nearest ones.
const MOST_LISTED: usize = 60;
const NEAREST: usize = 8;

/// Wrong usage, which has exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    /// Returns the error of an unknown name, with the nearest known name.
    pub fn unknown<'a>(
        kind: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> UsageError {
        let known: Vec<&str> = known.into_iter().collect();
        let distance = |candidate: &&&str| strsim::damerau_levenshtein(name, candidate);
        let near =
            known.iter().min_by_key(distance).filter(|found| distance(found) <= 1 + name.len() / 3);
        let hint = match near {
            Some(near) => format!("; did you mean '{near}'?"),
            None if known.is_empty() => format!("; there is no {kind} to name"),
            None if known.len() > MOST_LISTED => {
                let mut nearest = known.clone();
                nearest.sort_by_key(|known| strsim::damerau_levenshtein(name, known));
                let nearest = nearest[..NEAREST].join(", ");
                format!("; of {} the nearest are {nearest}", known.len())
            }
            None => format!("; one of: {}", known.join(", ")),
        };
        UsageError(format!("unknown {kind} '{name}'{hint}"))
    }
}

/// A function that makes a component or checker from its options. It may capture data, and is
/// called in every worker.
pub type Factory<T> = Arc<dyn Fn(&Options) -> Result<Box<T>, UsageError> + Send + Sync>;

/// An option of a component or checker.
#[derive(Clone, Copy, Debug)]
pub struct OptionDef {
    /// The name of the option.
    pub name: &'static str,
    /// A description of the option and its values.
    pub about: &'static str,
    /// The default, as a user would write it. Empty if the option has no default.
    pub default: &'static str,
}

impl OptionDef {
    /// Returns the default as a value. `None` without a default.
    fn value(&self) -> Option<OptionValue> {
        let value = || serde_json::from_str(self.default).unwrap_or_else(|_| self.default.into());
        (!self.default.is_empty()).then(value)
    }
}

/// The options that were given, and the defaults of the others. Only the given options are
/// serialised. [`with_defaults`] serialises both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options {
    given: BTreeMap<String, OptionValue>,
    #[serde(skip)]
    defaults: BTreeMap<String, OptionValue>,
}

/// Serde functions that write options together with their defaults.
pub mod with_defaults {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Options;

    /// Writes a pair: the given options, then the defaults.
    pub fn serialize<S: Serializer>(options: &Options, serializer: S) -> Result<S::Ok, S::Error> {
        (options, options.defaults()).serialize(serializer)
    }

    /// Reads the pair that [`serialize`] writes.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Options, D::Error> {
        let (given, defaults) = <(Options, Options)>::deserialize(deserializer)?;
        Ok(given.with_defaults(defaults))
    }
}

impl Options {
    /// Returns options of which none is given.
    pub fn none() -> Options {
        Options::default()
    }

    /// Adds one option.
    #[must_use = "this returns the longer set of options"]
    pub fn with(mut self, name: &str, value: impl Into<OptionValue>) -> Options {
        self.given.insert(name.to_owned(), value.into());
        self
    }

    /// Returns true if no option is given.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns true if this option is given.
    pub fn contains(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Returns the value of an option: the given one, or else its default. `None` without either.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.given.get(name).or_else(|| self.defaults.get(name))
    }

    /// Returns the known defaults, as options.
    pub fn defaults(&self) -> Options {
        Options { given: self.defaults.clone(), defaults: BTreeMap::new() }
    }

    /// Replaces the defaults with `defaults`.
    #[must_use = "this returns the options with these defaults"]
    pub fn with_defaults(self, defaults: Options) -> Options {
        Options { defaults: defaults.given, ..self }
    }

    /// Adds the defaults of `known` for each option that has no value yet. A default that `allows`
    /// rejects is omitted: it belongs to an option that cannot be given beside the rest, and has no
    /// effect.
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

    /// Returns every known value by name, given or default.
    pub fn effective(&self) -> BTreeMap<&str, &OptionValue> {
        self.defaults
            .iter()
            .chain(&self.given)
            .map(|(name, value)| (name.as_str(), value))
            .collect()
    }

    /// Returns the names and values of the given options, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.given.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Checks that every given name is one of `known`. `owner` names the owner of the options in
    /// the error.
    pub fn check(&self, owner: &str, known: &[OptionDef]) -> Result<(), UsageError> {
        let names = || known.iter().map(|def| def.name);
        let wrong = self.given.keys().find(|name| !names().any(|known| known == name.as_str()));
        wrong.map_or(Ok(()), |name| {
            Err(UsageError::unknown(&format!("option of {owner}"), name, names()))
        })
    }

    /// Deserialises all values into a structure that has their names. `owner` names the owner of
    /// the options in the error.
    pub fn parse<T: DeserializeOwned>(&self, owner: &str) -> Result<T, UsageError> {
        let value = serde_json::to_value(self.effective()).expect("options are plain data");
        serde_json::from_value(value).map_err(|error| UsageError(format!("{owner}: {error}")))
    }

    /// Returns the number that an option is set to, or `default`.
    pub fn int(&self, name: &str, default: u64) -> Result<u64, UsageError> {
        match self.get(name) {
            None => Ok(default),
            Some(OptionValue::Int(value)) => Ok(*value),
            Some(other) => {
                Err(UsageError(format!("option '{name}' needs a number, and is '{other}'")))
            }
        }
    }

    /// Returns the bool that an option is set to, or `default`.
    pub fn bool(&self, name: &str, default: bool) -> Result<bool, UsageError> {
        match self.get(name) {
            None => Ok(default),
            Some(OptionValue::Bool(value)) => Ok(*value),
            Some(other) => {
                Err(UsageError(format!("option '{name}' needs true or false, and is '{other}'")))
            }
        }
    }

    /// Returns the text that an option is set to, or `default`.
    pub fn text(&self, name: &str, default: &str) -> Result<String, UsageError> {
        Ok(self.get(name).map_or_else(|| default.to_owned(), ToString::to_string))
    }

    /// Returns the value of one of some words. The first word is the default.
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
