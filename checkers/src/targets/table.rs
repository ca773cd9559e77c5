//! A file of targets: entries with their common keys, and templates with their rows.

use explode_runtime::base::UsageError;
use explode_runtime::plan::Target;
use serde::Deserialize;
use toml::Value;

use super::entry::Entry;
use super::words::fill;

type Keys = toml::Table;

/// The keys that an entry replaces key by key.
const MERGED: [&str; 3] = ["checker", "bounds", "words"];
/// The keys that a bug does not inherit from its twin.
const OWN: [&str; 3] = ["name", "about", "expect"];
/// The keys of a target that a column can set.
const COLUMNS: [&str; 7] = ["name", "about", "stack", "checker", "bounds", "expect", "seeded"];

/// The contents of a file, as targets.
pub(super) struct Table {
    /// The heading of its targets.
    pub name: String,
    /// False if its systems are part of explode and exist for their bugs.
    pub real: bool,
    /// False if its systems need a cargo feature that this build does not have.
    pub is_built: bool,
    /// The targets with the names of their twins, in order.
    pub listed: Vec<(Target, Option<String>)>,
}

/// The keys of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: String,
    real: bool,
    feature: Option<Feature>,
    #[serde(default)]
    common: Keys,
    target: Vec<Keys>,
}

/// The cargo features that have systems.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Feature {
    Engines,
}

/// The keys of a template.
#[derive(Default, Deserialize)]
struct Template {
    columns: Option<Vec<String>>,
    rows: Option<Vec<Vec<Value>>>,
    #[serde(default)]
    bugs: Vec<Keys>,
}

impl Table {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Returns an error if the text is wrong. The error names the file, the entry and the key.
    pub fn read(path: &str, text: &str) -> Result<Table, UsageError> {
        let unread = |error| UsageError(format!("{path}: {}", one_line(error)));
        let file: File = toml::from_str(text).map_err(unread)?;
        let mut listed = Vec::new();
        for (index, entry) in file.target.into_iter().enumerate() {
            let name = entry.get("name").and_then(Value::as_str);
            let which = name.map_or_else(
                || format!("target number {}", index + 1),
                |name| format!("target '{name}'"),
            );
            expand(entry, &file.common, &mut listed)
                .map_err(|error| UsageError(format!("{path}: {which}: {error}")))?;
        }
        let is_built = match file.feature {
            None => true,
            Some(Feature::Engines) => cfg!(feature = "engines"),
        };
        Ok(Table { name: file.family, real: file.real, is_built, listed })
    }
}

/// Adds the targets of an entry to `listed`: one per row, each followed by its bugs.
fn expand(
    mut entry: Keys,
    inherited: &Keys,
    listed: &mut Vec<(Target, Option<String>)>,
) -> Result<(), String> {
    let template: Keys =
        ["columns", "rows", "bugs"].into_iter().filter_map(|key| entry.remove_entry(key)).collect();
    let Template { columns, rows, bugs } = parse(template)?;
    let (columns, rows) = match (columns, rows) {
        (None, None) => (Vec::new(), vec![Vec::new()]),
        (Some(columns), Some(rows)) => (columns, rows),
        _ => return Err("'columns' and 'rows' go together; write both".to_owned()),
    };
    for (index, row) in rows.into_iter().enumerate() {
        let (number, cells) = (index + 1, row.len());
        if cells != columns.len() {
            return Err(format!(
                "rows: row {number} has {cells} cells for {} columns",
                columns.len()
            ));
        }
        let words: Keys = columns.iter().cloned().zip(row).collect();
        let mut keys = words.clone();
        keys.retain(|column, _| COLUMNS.contains(&column));
        keys.insert("words".to_owned(), Value::Table(words));
        let mut target = merged(merged(inherited.clone(), &entry)?, &keys)?;
        let (found, twin) = filled(&target)?.target();
        target.retain(|key, _| !OWN.contains(&key));
        target.insert("seeded".to_owned(), Value::String(found.name.to_string()));
        listed.push((found, twin));
        for bug in &bugs {
            expand(bug.clone(), &target, listed).map_err(|error| match bug.get("name") {
                Some(Value::String(name)) => format!("bug '{name}': {error}"),
                _ => format!("bugs: {error}"),
            })?;
        }
    }
    Ok(())
}

/// Returns the keys of `below`, with those of `above` in their place.
fn merged(mut below: Keys, above: &Keys) -> Result<Keys, String> {
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) if MERGED.contains(&key.as_str()) => {
                // Options belong to one checker: another checker inherits none of them.
                if above.contains_key("use") && below.contains_key("use") {
                    below.clear();
                }
                below.extend(above.clone());
            }
            (Some(Value::Table(_)), other) if MERGED.contains(&key.as_str()) => {
                return Err(format!("{key}: expected a table, found {}", other.type_str()));
            }
            _ => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(below)
}

/// Returns the entry of these keys, with the words filled in.
fn filled(target: &Keys) -> Result<Entry, String> {
    let mut target = target.clone();
    let words = match target.remove("words") {
        Some(Value::Table(words)) => words,
        Some(other) => {
            return Err(format!("words: expected a table, found {}", other.type_str()));
        }
        None => Keys::new(),
    };
    for (key, value) in &mut target {
        fill(value, &words).map_err(|error| format!("{key}: {error}"))?;
    }
    parse(target)
}

fn parse<T: for<'de> Deserialize<'de>>(keys: Keys) -> Result<T, String> {
    Value::Table(keys).try_into().map_err(one_line)
}

/// Returns the text of an error without its line breaks.
fn one_line(error: toml::de::Error) -> String {
    error.to_string().trim().replace('\n', "; ")
}
