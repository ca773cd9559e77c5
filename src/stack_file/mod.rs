//! Stack files (`docs/reference/stack-files.md`): components bottom first, one checker, options of
//! `run`, and packages of the guest, in TOML.
//!
//! A file is read and checked as a whole before anything is run. Unknown keys, wrong types and
//! contradictions are refused with their line and column. Invariant: the plan then has everything
//! that a run needs of the file.

mod checker;
mod components;
mod document;
mod guest;
mod options;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Command;
use explode_runtime::base::{Options, UsageError, read_at_most};
use explode_runtime::plan::{GuestPackages, Registry};
use explode_runtime::stack::StackSpec;
use toml::de::DeTable;

use document::{StackSource, Table, Value};

/// The keys of a file.
const KEYS: [&str; 4] = ["run", "guest", "component", "checker"];

/// The largest stack file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// The contents of a stack file.
#[derive(Clone, Debug)]
pub struct StackFile {
    path: PathBuf,
    /// The options of `[run]`, as arguments of the command line.
    pub arguments: Vec<String>,
    /// The components.
    pub stack: StackSpec,
    /// The packages of the guest.
    pub guest: GuestPackages,
    /// The checker's name and options.
    checker: Option<(String, Options)>,
}

/// A stack of a file of several.
#[derive(Clone, Debug)]
pub struct NamedStack {
    pub name: String,
    /// A description of one line.
    pub about: String,
    pub stack: StackSpec,
}

/// Reads the stacks of a file with a list `row`. Each row has a name, a description, and the
/// components of a stack file. `path` is for messages.
///
/// # Errors
/// The error names the path, the line and the column.
pub fn named_stacks(
    registry: &Registry,
    path: &Path,
    text: &str,
) -> Result<Vec<NamedStack>, UsageError> {
    let source = StackSource { path, text };
    let document = DeTable::parse(text)
        .map_err(|error| source.error(error.span().unwrap_or_default(), error.message().trim()))?;
    let document = Table::new(&source, "a file of rows", document.span(), document.get_ref());
    document.only(["row"])?;
    let missing = || document.error("there is no [[row]]; write one");
    let row = |value: Value<'_>| {
        let row = value.table()?;
        row.only(["name", "about", "component"])?;
        let [name, about] = [row.required("name")?, row.required("about")?].map(str::to_owned);
        Ok(NamedStack { name, about, stack: components::stack(registry, &row)? })
    };
    document.get("row").ok_or_else(missing)?.list()?.map(row).collect()
}

/// Returns true if this argument names a stack file.
pub fn is_path(argument: &str) -> bool {
    Path::new(argument).extension().is_some_and(|extension| extension == "toml")
}

impl StackFile {
    /// Reads a file. `cli` makes the command line whose options of `run` the file may set.
    ///
    /// # Errors
    /// The error names the file, the line and the column.
    pub fn read(
        registry: &Registry,
        cli: fn() -> Command,
        path: &Path,
    ) -> Result<StackFile, UsageError> {
        let unread = |error: &dyn Display| {
            UsageError(format!("{}: {error}; name a stack file that can be read", path.display()))
        };
        let bytes = read_at_most(path, MOST_BYTES).map_err(|error| unread(&error))?;
        let text = String::from_utf8(bytes).map_err(|_| unread(&"it is not UTF-8"))?;
        StackFile::of_text(registry, cli, path, &text)
    }

    /// Reads the text of a file that has this path.
    ///
    /// # Errors
    /// The error names the file, the line and the column.
    pub fn of_text(
        registry: &Registry,
        cli: fn() -> Command,
        path: &Path,
        text: &str,
    ) -> Result<StackFile, UsageError> {
        let source = StackSource { path, text };
        let document = DeTable::parse(text).map_err(|error| {
            source.error(error.span().unwrap_or_default(), error.message().trim())
        })?;
        let document = Table::new(&source, "a stack file", document.span(), document.get_ref());
        document.only(KEYS)?;
        let arguments = document
            .table("run")?
            .map_or(Ok(Vec::new()), |table| options::arguments(cli(), &table))?;
        let guest = document.table("guest")?;
        let guest =
            guest.map_or(Ok(GuestPackages::default()), |table| guest::packages(&table, path))?;
        let stack = components::stack(registry, &document)?;
        let checker = document
            .table("checker")?
            .map(|table| checker::checker(registry, &table))
            .transpose()?;
        Ok(StackFile { path: path.to_owned(), arguments, stack, guest, checker })
    }

    /// Returns the number of layer options that its `[run]` sets. They are the first on the command
    /// line that includes the file's options.
    pub fn settings(&self) -> usize {
        self.arguments.iter().filter(|argument| argument.starts_with("--set=")).count()
    }

    /// The file's own checker.
    ///
    /// # Errors
    /// The file has no checker.
    pub fn checker(&self) -> Result<&(String, Options), UsageError> {
        self.checker.as_ref().ok_or_else(|| {
            let path = self.path.display();
            UsageError(format!(
                "{path} has no [checker]; write one, or name a checker before it: explode run \
                 CHECKER --stack {path}"
            ))
        })
    }

    /// Returns the name of its runs: the file's name without its ending.
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}
