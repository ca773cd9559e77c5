//! A TOML document whose parts have positions.

use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

use explode_runtime::base::{OptionValue, UsageError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text that positions refer to.
pub struct StackSource<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl StackSource<'_> {
    /// Returns the error for a position.
    pub fn error(&self, at: Range<usize>, text: impl Display) -> UsageError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|letter| *letter != '\n').count();
        UsageError(format!("{}:{line}:{column}: {text}", self.path.display()))
    }
}

/// A table, with its description for messages.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    source: &'a StackSource<'a>,
    owner: &'a str,
    start: usize,
    table: &'a DeTable<'a>,
}

/// A value, with the key that it belongs to.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    source: &'a StackSource<'a>,
    key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    pub fn new(
        source: &'a StackSource<'a>,
        owner: &'a str,
        at: Range<usize>,
        table: &'a DeTable<'a>,
    ) -> Table<'a> {
        Table { source, owner, start: at.start, table }
    }

    /// Returns an error about the whole table.
    pub fn error(&self, text: impl Display) -> UsageError {
        self.source.error(self.start..self.start, text)
    }

    /// Returns its keys in alphabetical order.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.table.keys().map(|key| key.get_ref().as_ref())
    }

    /// Checks that every key is one of these.
    pub fn only(&self, known: impl IntoIterator<Item = &'a str>) -> Result<(), UsageError> {
        let known: Vec<&str> = known.into_iter().collect();
        match self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some(key) => {
                let unknown =
                    UsageError::unknown(&format!("key of {}", self.owner), key.get_ref(), known);
                Err(self.source.error(key.span(), unknown))
            }
        }
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        let (key, value) = self.table.iter().find(|(known, _)| known.get_ref() == key)?;
        Some(Value { source: self.source, key: key.get_ref(), value })
    }

    /// Returns an error about a key of the table.
    pub fn key_error(&self, key: &str, text: impl Display) -> UsageError {
        let at = self.table.keys().find(|known| known.get_ref() == key);
        self.source.error(at.map_or(self.start..self.start, Spanned::span), text)
    }

    /// Returns the table of a key.
    pub fn table(&self, key: &str) -> Result<Option<Table<'a>>, UsageError> {
        self.get(key).map(|value| value.table()).transpose()
    }

    /// Returns the text of a key.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, UsageError> {
        self.get(key).map(|value| value.text()).transpose()
    }

    /// Returns the text of a required key.
    pub fn required(&self, key: &str) -> Result<&'a str, UsageError> {
        self.text(key)?.ok_or_else(|| self.error(format!("{} needs the key '{key}'", self.owner)))
    }
}

impl Table<'_> {
    /// Returns all its values as options.
    fn options(&self) -> Result<OptionValue, UsageError> {
        let option = |key: &str| {
            let value = self.get(key).expect("it is one of the keys");
            match value.value.get_ref() {
                // A table may have negative numbers, which no option is: the return value of a
                // function.
                DeValue::Integer(number) if number.as_str().starts_with('-') => {
                    Ok(OptionValue::Text(number.as_str().to_owned()))
                }
                _ => value.option(),
            }
        };
        let options = self.keys().map(|key| Ok((key.to_owned(), option(key)?)));
        options.collect::<Result<_, _>>().map(OptionValue::Table)
    }
}

impl<'a> Value<'a> {
    /// Returns an error about the value.
    pub fn error(&self, text: impl Display) -> UsageError {
        self.source.error(self.value.span(), text)
    }

    fn wrong(&self, wanted: &str) -> UsageError {
        self.error(format!(
            "'{}' is {wanted}, and here it is {}",
            self.key,
            kind(self.value.get_ref())
        ))
    }

    pub fn text(&self) -> Result<&'a str, UsageError> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong("a text"))
    }

    pub fn bool(&self) -> Result<bool, UsageError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    /// Returns a number from 0 up.
    pub fn number(&self) -> Result<u64, UsageError> {
        let number =
            self.value.get_ref().as_integer().ok_or_else(|| self.wrong("a whole number"))?;
        u64::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| self.wrong("a whole number from 0 to 2^64 - 1"))
    }

    pub fn table(&self) -> Result<Table<'a>, UsageError> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong("a table"))?;
        Ok(Table::new(self.source, self.key, self.value.span(), table))
    }

    /// Returns the elements of a list.
    pub fn list(&self) -> Result<impl Iterator<Item = Value<'a>>, UsageError> {
        let list = self.value.get_ref().as_array().ok_or_else(|| self.wrong("a list"))?;
        let Value { source, key, .. } = *self;
        Ok(list.iter().map(move |value| Value { source, key, value }))
    }

    /// Returns the value as an option: a bool, a number, a text, or a list of tables of these.
    pub fn option(&self) -> Result<OptionValue, UsageError> {
        match self.value.get_ref() {
            DeValue::Array(tables) if tables.iter().all(|table| table.get_ref().is_table()) => self
                .list()?
                .map(|table| table.table()?.options())
                .collect::<Result<_, _>>()
                .map(OptionValue::List),
            DeValue::Boolean(value) => Ok(OptionValue::Bool(*value)),
            DeValue::String(value) => Ok(OptionValue::Text(value.to_string())),
            DeValue::Integer(_) => self.number().map(OptionValue::Int),
            _ => Err(self.wrong("true, false, a number or a text")),
        }
    }
}

fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Integer(value) => value.as_str().to_owned(),
        DeValue::String(_) => "a text".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        other => format!("a {}", other.type_str()),
    }
}
