//! The names of strategies, with their parameters, as users write them and traces record them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::UsageError;

/// The strategies with a name. The text form is the JSON form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StrategyName {
    /// All choices of a state, then the next state, breadth first.
    #[default]
    Exhaust,
    /// The newest state first, depth first.
    Dfs,
    /// All choices of a state, then the state that is most different from the explored ones.
    Different,
    /// All paths of one length in random order, then those that are longer by one.
    Shuffle,
    /// Random walks from the pristine disks, with equally likely options.
    Random,
    /// Random walks from the pristine disks, with weighted options.
    Weighted,
    /// Random walks from the pristine disks, with priorities (PCT).
    Pct {
        /// The depth of the bugs that the walks search for: the number of events that must happen
        /// in the right order.
        d: u32,
        /// The number of steps of a walk among which the changes of priority are drawn.
        k: u32,
    },
    /// Random walks from the pristine disks, by the policy that is registered under this name.
    Walks(String),
    /// The path of a trace first, then its neighbourhood.
    Prefix(String),
    /// A strategy of this name that another program defines.
    Own(String),
}

/// The names that the command line accepts.
const NAMES: [&str; 8] =
    ["exhaust", "dfs", "different", "shuffle", "random", "weighted", "pct", "prefix"];
/// The default parameters of PCT, d and k.
const PCT: (u32, u32) = (3, 100);
/// The largest depth d. The chance of finding deeper bugs is too small.
const MOST: u32 = 100;

impl StrategyName {
    /// Returns true if a run with this strategy needs no bound on the depth, because the strategy
    /// comes back to every waiting state. `dfs` would follow one path for ever, and the walks have
    /// the depth as their length.
    pub fn needs_no_depth(&self) -> bool {
        use StrategyName::{Different, Exhaust, Prefix, Shuffle};
        matches!(self, Exhaust | Different | Shuffle | Prefix(_))
    }

    /// Returns true if the strategy never ends.
    pub fn is_endless(&self) -> bool {
        use StrategyName::{Pct, Random, Walks, Weighted};
        matches!(self, Random | Weighted | Pct { .. } | Walks(_))
    }
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrategyName::Exhaust => f.write_str("exhaust"),
            StrategyName::Dfs => f.write_str("dfs"),
            StrategyName::Different => f.write_str("different"),
            StrategyName::Shuffle => f.write_str("shuffle"),
            StrategyName::Random => f.write_str("random"),
            StrategyName::Weighted => f.write_str("weighted"),
            StrategyName::Pct { d, k } => write!(f, "pct:d={d},k={k}"),
            StrategyName::Walks(policy) => write!(f, "walks:{policy}"),
            StrategyName::Prefix(trace) => write!(f, "prefix:{trace}"),
            StrategyName::Own(name) => write!(f, "own:{name}"),
        }
    }
}

impl From<StrategyName> for String {
    fn from(name: StrategyName) -> String {
        name.to_string()
    }
}

impl TryFrom<String> for StrategyName {
    type Error = UsageError;

    fn try_from(text: String) -> Result<StrategyName, UsageError> {
        text.parse()
    }
}

impl FromStr for StrategyName {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<StrategyName, UsageError> {
        let (name, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let plain = match (name, parameters) {
            ("pct", _) => return pct(parameters.unwrap_or_default()),
            ("prefix" | "own" | "walks", None | Some("")) => {
                let parameter = if name == "prefix" { "TRACE.json" } else { "NAME" };
                return Err(UsageError(format!(
                    "strategy {name} of what? Write it as {name}:{parameter}"
                )));
            }
            ("prefix", Some(trace)) => return Ok(StrategyName::Prefix(trace.to_owned())),
            ("walks", Some(policy)) => return Ok(StrategyName::Walks(policy.to_owned())),
            ("own", Some(name)) => return Ok(StrategyName::Own(name.to_owned())),
            ("exhaust", _) => StrategyName::Exhaust,
            ("dfs", _) => StrategyName::Dfs,
            ("different", _) => StrategyName::Different,
            ("shuffle", _) => StrategyName::Shuffle,
            ("random", _) => StrategyName::Random,
            ("weighted", _) => StrategyName::Weighted,
            _ => return Err(UsageError::unknown("strategy", name, NAMES)),
        };
        match parameters {
            None => Ok(plain),
            Some(parameters) => Err(UsageError(format!(
                "strategy {name} has no parameters, and '{parameters}' was given"
            ))),
        }
    }
}

/// Parses the parameters of PCT: `d=3,k=100`, each optional.
fn pct(parameters: &str) -> Result<StrategyName, UsageError> {
    let (mut d, mut k) = PCT;
    for parameter in parameters.split(',').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let number = value.parse().ok().filter(|number| *number > 0);
        let wrong = || {
            UsageError(format!(
                "strategy pct: '{parameter}'; write it as pct:d=3,k=100, each at least 1"
            ))
        };
        match name {
            "d" => d = number.ok_or_else(wrong)?,
            "k" => k = number.ok_or_else(wrong)?,
            _ => return Err(UsageError::unknown("parameter of pct", name, ["d", "k"])),
        }
    }
    if d > MOST {
        return Err(UsageError(format!("strategy pct: bugs of depth {d}; use at most {MOST}")));
    }
    // More changes than steps find no further bugs.
    if d > k {
        return Err(UsageError(format!(
            "strategy pct: a bug of depth {d} needs at least as many steps, and k is {k}"
        )));
    }
    Ok(StrategyName::Pct { d, k })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strategy_name_is_parsed_as_written() {
        for text in [
            "exhaust",
            "dfs",
            "different",
            "shuffle",
            "random",
            "weighted",
            "pct:d=2,k=500",
            "prefix:a/b:c.json",
            "own:x",
            "walks:mine",
        ] {
            assert_eq!(text.parse::<StrategyName>().unwrap().to_string(), text);
        }
        let pct = |text: &str| text.parse::<StrategyName>().map(|name| name.to_string());
        assert_eq!(pct("pct").unwrap(), "pct:d=3,k=100");
        assert_eq!(pct("pct:k=7").unwrap(), "pct:d=3,k=7");
    }

    #[test]
    fn malformed_strategy_names_are_refused() {
        for (text, word) in [
            ("exaust", "did you mean 'exhaust'?"),
            ("dfs:3", "no parameters"),
            ("prefix", "prefix:TRACE.json"),
            ("prefix:", "prefix:TRACE.json"),
            ("pct:d", "'d'"),
            ("pct:d=0", "'d=0'"),
            ("pct:x=1", "unknown parameter of pct 'x'"),
            ("pct:d=5,k=4", "k is 4"),
            ("pct:d=101,k=200", "at most 100"),
            ("", "unknown strategy"),
        ] {
            let error = text.parse::<StrategyName>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
