//! The rows, columns and limits of a matrix. The file `grid.json` in its folder has them, and
//! `--resume` uses it.

use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};

use clap::CommandFactory as _;
use explode_runtime::base::{
    Mode, OptionValue, Options, RunError, TargetBounds, UsageError, check_folder, check_plain,
    durable_write, read_plain_at_most,
};
use explode_runtime::plan::{GuestPackages, MatrixColumn, Registry};
use explode_runtime::report::Finding;
use explode_runtime::run::check_owner;
use explode_runtime::stack::{Carried, StackSpec, carried};
use explode_runtime::trace::{Secret, Tagged};
use explode_runtime::verdict::{StepName, Verdict};
use serde::{Deserialize, Serialize};

use super::family;
use super::row::Row;
use crate::cli::Cli;
use crate::stack_file::{self, StackFile};
use crate::trust::{self, Carrier};

/// A matrix: its rows, columns and limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The rows, in order.
    pub systems: Vec<Row>,
    /// The columns, in order.
    pub checks: Vec<Column>,
    /// The mode of all cells. `None`: the mode in which each system can run.
    #[serde(rename = "in")]
    pub mode: Option<Mode>,
    /// The budget of the matrix, in milliseconds.
    pub budget_ms: Option<u64>,
    /// The most time of a run, in milliseconds, if the user named it.
    pub cell_ms: Option<u64>,
    /// The deadline of a step, in milliseconds.
    #[serde(default = "deadline_ms")]
    pub deadline_ms: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// A keyed hash of all other keys. `None` if no stack carries commands, or the user had no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

/// A column: a check.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The name, also of a folder.
    pub name: String,
    /// A description of one line.
    pub about: String,
    /// The checker's name.
    pub checker: String,
    /// The checker's options.
    pub options: Options,
    /// The options that are set in the top layer.
    pub set: Vec<(String, OptionValue)>,
    /// The bounds of the check.
    pub bounds: TargetBounds,
    /// True if its runs go deeper until their time is up.
    #[serde(default)]
    pub deepens: bool,
    /// The promises that a sync method is about.
    #[serde(default, rename = "words")]
    pub promises: Vec<String>,
    /// The promises of other checks that this sync method and others keep together.
    #[serde(default, rename = "doubts")]
    pub also_depends_on: Vec<String>,
    /// True if the check is about one way to make data durable.
    #[serde(rename = "way")]
    pub is_sync_method: bool,
}

const FILE: &str = "grid.json";
/// The file in the folder of a cell.
pub(super) const CELL_FILE: &str = "cell.json";
/// The page, if `--html` names no other file.
pub const PAGE: &str = "matrix.html";
/// The names in its folder that `--html` cannot use.
pub const OWN_NAMES: [&str; 1] = [FILE];
/// The most bytes of a grid file that are read.
const MOST_BYTES: u64 = 1 << 24;

/// Returns true if the name is one component of a path and one line.
fn is_file_name(name: &str) -> bool {
    if name.contains(char::is_control) {
        return false;
    }
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
}

/// Returns the deadline of grids written before they had one.
fn deadline_ms() -> u64 {
    30_000
}

impl Grid {
    /// Reads the grid of a folder.
    pub fn read(folder: &Path) -> Result<Grid, UsageError> {
        let path = folder.join(FILE);
        let wrong = |error: &dyn std::fmt::Display| {
            UsageError(format!("{}: {error}; name the folder of a matrix", path.display()))
        };
        let text = read_plain_at_most(&path, MOST_BYTES).map_err(|error| wrong(&error))?;
        let grid: Grid = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
        let mut names = grid
            .systems
            .iter()
            .map(|row| &row.name)
            .chain(grid.checks.iter().map(|column| &column.name));
        match names.find(|name| !is_file_name(name)) {
            Some(name) => Err(wrong(&format!("'{name}' cannot be the name of a folder"))),
            None => Ok(grid),
        }
    }

    /// Reads the grid of a folder whose matrix is to be resumed.
    ///
    /// # Errors
    /// Another user owns the folder, or an entry is not of the kind that a matrix creates (usage).
    pub fn resume(folder: &Path) -> Result<Grid, RunError> {
        const HINT: &str = "make it readable";
        check_owner(folder)?;
        let grid = Grid::read(folder)?;
        let found = |path: &Path, check: fn(&Path) -> io::Result<Option<Metadata>>| {
            check(path).map_err(|error| RunError::unwritable(path, error, HINT))
        };
        found(&folder.join(PAGE), check_plain)?;
        for row in &grid.systems {
            found(&folder.join(&row.name), check_folder)?;
            for column in &grid.checks {
                let place = Grid::place(folder, row, column);
                found(&place, check_folder)?;
                found(&place.join(CELL_FILE), check_plain)?;
            }
        }
        Ok(grid)
    }

    /// Returns the shell commands that its stacks and checks carry.
    pub fn commands(&self) -> Vec<Carried> {
        let rows = self.systems.iter().flat_map(|row| carried(&row.stack, "", &Options::none()));
        let columns = self.checks.iter();
        let columns = columns
            .flat_map(|column| carried(&StackSpec::default(), &column.checker, &column.options));
        rows.chain(columns).collect()
    }

    /// Returns the grid with a tag of this secret if it carries commands, else without a tag.
    #[must_use = "this returns the tagged grid"]
    pub fn tagged(mut self, secret: Option<&Secret>) -> Grid {
        self.tag = None;
        self.tag = secret
            .filter(|_| !self.commands().is_empty())
            .map(|secret| secret.tag(Tagged::Matrix, &self));
        self
    }

    /// Returns an error unless the grid carries no commands, they are the user's own, or `trusted`.
    ///
    /// # Errors
    /// The error lists the commands of another user's grid.
    pub fn check(&self, folder: &Path, trusted: bool) -> Result<(), UsageError> {
        let carrier =
            Carrier { kind: "matrix", path: folder, commands: self.commands(), mode: self.mode };
        let untagged = Grid { tag: None, ..self.clone() };
        let tagged = |secret: &Secret| {
            self.tag.as_deref().is_some_and(|tag| secret.verifies(Tagged::Matrix, &untagged, tag))
        };
        trust::check(&carrier, self.tag.is_some(), tagged, trusted)
    }

    /// Writes the grid to a folder.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("a grid is plain data");
        durable_write(&folder.join(FILE), &text)
    }

    /// Returns the folder of a cell.
    pub fn place(folder: &Path, row: &Row, column: &Column) -> PathBuf {
        folder.join(&row.name).join(&column.name)
    }
}

#[cfg(test)]
impl Grid {
    /// Returns a grid of one cell, without limits.
    pub fn of_cell(row: &Row, column: &Column) -> Grid {
        Grid {
            systems: vec![row.clone()],
            checks: vec![column.clone()],
            mode: None,
            budget_ms: None,
            cell_ms: None,
            deadline_ms: 1,
            seed: 0,
            tag: None,
        }
    }
}

impl Row {
    /// Returns the system of this name: the layers of a stack file, a row of the registry or of a
    /// family, or a component with the stack that it needs.
    pub fn named(registry: &Registry, name: &str) -> Result<Row, UsageError> {
        if stack_file::is_path(name) {
            let file = StackFile::read(registry, Cli::command, Path::new(name))?;
            let (name, driver) = (file.name(), String::new());
            return Ok(Row { name, driver, stack: file.stack, guest: file.guest });
        }
        let systems = registry.rows.iter().map(|system| system.name);
        let is_one = |name: &&str| systems.clone().any(|system| system == *name);
        let components =
            registry.components.iter().map(|def| &*def.name).filter(|name| !is_one(name));
        let known = systems.clone().chain(components);
        if !known.clone().any(|known| known == name) {
            let of_family = family::row_named(registry, name)?;
            return of_family.ok_or_else(|| registry.components.unknown("system", name, known));
        }
        let found = registry.rows.iter().find(|system| system.name == name);
        let driver = found.map_or(name, |system| system.driver).to_owned();
        let (stack, guest) = (registry.stack_of(name)?, GuestPackages::default());
        Ok(Row { name: name.to_owned(), driver, stack, guest })
    }
}

impl Column {
    /// Returns the check of this name.
    pub fn named(registry: &Registry, name: &str) -> Result<Column, UsageError> {
        let found = registry.columns.iter().find(|column| column.name == name);
        let known = registry.columns.iter().map(|column| column.name);
        found.map(Column::from).ok_or_else(|| UsageError::unknown("check", name, known))
    }
}

impl Column {
    /// Returns true if the finding breaks a promise of this check, whichever check has found it.
    pub fn is_about(&self, finding: &Finding) -> bool {
        is_one(&self.promises, finding)
    }

    /// Returns true if the finding may concern this check. A crash disk that cannot be recovered or
    /// mounted concerns every way.
    pub fn may_be_about(&self, finding: &Finding) -> bool {
        let is_step = |step: StepName| finding.promise() == step.to_string();
        match finding.verdict {
            Verdict::RecoverFailed | Verdict::MountFailed => true,
            Verdict::KernelPanic | Verdict::KernelOops | Verdict::KernelWarn | Verdict::Hang => {
                is_step(StepName::Recover) || is_step(StepName::Mount)
            }
            _ => is_one(&self.also_depends_on, finding),
        }
    }
}

/// Returns true if the finding breaks one of these promises.
fn is_one(words: &[String], finding: &Finding) -> bool {
    words.iter().any(|known| known == finding.promise())
}

impl From<&MatrixColumn> for Column {
    fn from(column: &MatrixColumn) -> Column {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let set = column.set.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Column {
            name: column.name.to_owned(),
            about: column.about.to_owned(),
            checker: column.checker.to_owned(),
            options: column.options.clone(),
            set: set.collect(),
            bounds: column.bounds,
            deepens: column.deepens,
            promises: owned(&column.promises),
            also_depends_on: owned(&column.also_depends_on),
            is_sync_method: column.is_sync_method,
        }
    }
}

#[cfg(test)]
mod tests {
    use explode_runtime::devices::{Backend as _, HostId, InProcess, Side};
    use explode_runtime::stack::Stack;
    use explode_runtime::writeset::DeviceRules;

    use super::*;
    use crate::ramdisk::{Image, Recording};

    /// A row promises what the stack of its runs promises. A layer may promise what the layer below
    /// it keeps.
    #[test]
    fn a_row_of_a_stack_file_has_the_profile_of_its_stack() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("overlaid.toml");
        let layers =
            ["ramdisk", "ext2", "overlay"].map(|name| format!("[[component]]\nuse = \"{name}\"\n"));
        std::fs::write(&path, layers.concat()).unwrap();
        let registry = crate::registry();
        let row = Row::named(&registry, path.to_str().unwrap()).unwrap();
        let devices =
            InProcess.disks(HostId::default(), Side::Live, Image::new(), Recording::Off, 0);
        let stack =
            Stack::build(&row.stack, &registry.components, devices, DeviceRules::default(), 0)
                .unwrap();
        let profile = row.profile(&registry).unwrap().expect("it has one");
        assert_eq!(stack.profile().as_ref(), Some(&profile));
        let replaced =
            profile.excludes("replaced-name").map(|line| profile.cite(line)).unwrap_or_default();
        assert!(replaced.starts_with("overlay on ext2 in Linux: "), "{replaced}");
    }
}
