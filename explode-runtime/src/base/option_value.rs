//! The values of options.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "an option is true or false, a number up to 2^64 - 1, text, or a list or table of \
                 these"
)]
pub enum OptionValue {
    /// True or false.
    Bool(bool),
    /// A number.
    Int(u64),
    /// Any text.
    Text(String),
    /// Values in order.
    List(Vec<OptionValue>),
    /// Values by name.
    Table(BTreeMap<String, OptionValue>),
}

impl OptionValue {
    /// Returns the value as it is written. A text is not copied, because stacks are built for each
    /// crash disk.
    pub(super) fn as_word(&self) -> Cow<'_, str> {
        match self {
            OptionValue::Text(word) => Cow::Borrowed(word),
            other => Cow::Owned(other.to_string()),
        }
    }
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
