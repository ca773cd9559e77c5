//! One target as a table writes it, with its placeholders filled.

use std::collections::BTreeMap;

use explode_runtime::base::{OptionValue, Options, TargetBounds};
use explode_runtime::plan::Target;
use explode_runtime::stack::{Layer, StackSpec};
use explode_runtime::verdict::Verdict;
use serde::de::IntoDeserializer;
use serde::de::value::Error as VerdictError;
use serde::{Deserialize, Deserializer};

/// The keys of a target.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    name: String,
    about: String,
    stack: Vec<UsedLayer>,
    checker: UsedChecker,
    bounds: TargetBounds,
    #[serde(deserialize_with = "clean_or_verdict")]
    expect: String,
    #[serde(default)]
    seeded: Seeded,
}

/// A checker with its options, as stack files write it.
#[derive(Deserialize)]
struct UsedChecker {
    #[serde(rename = "use")]
    used: String,
    #[serde(flatten)]
    options: BTreeMap<String, OptionValue>,
}

/// A layer with its options, as stack files write it.
#[derive(Deserialize)]
struct UsedLayer {
    #[serde(rename = "use")]
    used: String,
    /// The name of a layer. Default: the name of the component.
    name: Option<String>,
    /// The layers below a layer. Default: the layer before it.
    children: Option<Vec<String>>,
    #[serde(flatten)]
    options: BTreeMap<String, OptionValue>,
}

/// The `seeded` key: true if the target has a seeded bug, or the name of the target without that
/// bug.
#[derive(Deserialize)]
#[serde(untagged, expecting = "seeded is true, false or the name of the target without the bug")]
enum Seeded {
    Is(bool),
    Twin(String),
}

impl Default for Seeded {
    fn default() -> Seeded {
        Seeded::Is(false)
    }
}

impl Entry {
    /// Returns the target and the name of its twin. `None` if the entry names no twin.
    pub fn target(self) -> (Target, Option<String>) {
        let mut stack = StackSpec::default();
        for UsedLayer { used, name, children, options } in self.stack {
            let before = || stack.0.last().map(|layer| layer.name.clone());
            let children = children.unwrap_or_else(|| before().into_iter().collect());
            let name = name.unwrap_or_else(|| used.clone());
            stack.0.push(Layer { name, component: used, children, options: given(options) });
        }
        let (seeded, twin) = match self.seeded {
            Seeded::Is(seeded) => (seeded, None),
            Seeded::Twin(twin) => (true, Some(twin)),
        };
        let target = Target {
            name: self.name.into(),
            about: self.about.into(),
            stack,
            checker: self.checker.used.into(),
            checker_options: given(self.checker.options),
            bounds: self.bounds,
            seeded,
            expect: self.expect.into(),
        };
        (target, twin)
    }
}

fn given(options: BTreeMap<String, OptionValue>) -> Options {
    options.into_iter().fold(Options::none(), |all, (name, value)| all.with(&name, value))
}

fn clean_or_verdict<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let word = String::deserialize(deserializer)?;
    if word != "clean" {
        let verdict: Result<Verdict, VerdictError> =
            Verdict::deserialize(word.as_str().into_deserializer());
        verdict.map_err(serde::de::Error::custom)?;
    }
    Ok(word)
}
