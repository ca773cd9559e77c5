//! One cell as a stack file: the matrix runs it, and a user can run it again.

use explode_runtime::base::{OptionValue, Options, TargetBounds};
use explode_runtime::plan::{GuestPackages, Registry};
use explode_runtime::stack::{Layer, StackSpec};
use toml::{Table, Value};

use super::grid::{Column, Grid};
use super::row::Row;

/// The leaf component whose flushes can be dropped.
const DISK: &str = "ramdisk";
const DROPPED: (&str, &str) = ("flushes", "dropped");

/// The stack file of a cell: a checker on a stack, with bounds.
pub struct CellFile<'a> {
    grid: &'a Grid,
    column: &'a Column,
    stack: StackSpec,
    guest: GuestPackages,
    bounds: TargetBounds,
}

impl<'a> CellFile<'a> {
    /// Returns the file of a row and a column. If the system lacks an option, returns an error that
    /// names it.
    pub fn new(
        registry: &Registry,
        grid: &'a Grid,
        row: &Row,
        column: &'a Column,
    ) -> Result<CellFile<'a>, String> {
        let mut stack = row.stack.clone();
        if let Some(top) = stack.0.last_mut() {
            let has = |key: &str| {
                let def = registry.component(&top.component);
                def.is_ok_and(|def| def.options.iter().any(|option| option.name == key))
            };
            if let Some((key, _)) = column.set.iter().find(|(key, _)| !has(key)) {
                return Err(format!("{} has no option '{key}'", top.component));
            }
            set(top, column.set.iter().map(|(key, value)| (key.as_str(), value.clone())));
        }
        let guest = row.guest.clone();
        Ok(CellFile { grid, column, stack, guest, bounds: column.bounds })
    }

    /// Returns the same cell on disks that ignore flushes. `None` if the stack has no such disk.
    pub fn without_flushes(&self) -> Option<CellFile<'a>> {
        let mut stack = self.stack.clone();
        let mut disks = stack.0.iter_mut().filter(|layer| layer.component == DISK).peekable();
        disks.peek()?;
        disks.for_each(|disk| set(disk, [(DROPPED.0, OptionValue::from(DROPPED.1))]));
        Some(CellFile { stack, guest: self.guest.clone(), ..*self })
    }

    /// Returns the same cell with a few disks of each write set. A loss without flushes shows on
    /// the disk that has kept nothing, and every sample contains that disk.
    pub fn on_few_disks(&self) -> CellFile<'a> {
        CellFile {
            stack: self.stack.clone(),
            guest: self.guest.clone(),
            bounds: TargetBounds { limit: 8, samples: 4, ..self.bounds },
            ..*self
        }
    }

    /// Returns the text of the stack file.
    pub fn file(&self) -> String {
        let CellFile { grid, column, stack, guest, bounds } = self;
        let mut run = Table::new();
        // Without a depth, a run with a budget goes deeper until its time is up.
        let depth = (!column.deepens).then_some(("depth", u64::from(bounds.depth)));
        let numbers = [
            ("limit", bounds.limit),
            ("samples", bounds.samples),
            ("crash_depth", u64::from(bounds.crash_depth)),
            ("seed", grid.seed),
        ];
        for (key, number) in depth.into_iter().chain(numbers) {
            run.insert(key.to_owned(), value(&OptionValue::Int(number)));
        }
        run.insert("deadline".to_owned(), format!("{}ms", grid.deadline_ms).into());
        if let Some(mode) = grid.mode {
            run.insert("in".to_owned(), mode.as_str().into());
        }
        let mut checker = options(&column.options);
        checker.insert("use".to_owned(), column.checker.as_str().into());
        let mut file = Table::new();
        file.insert("run".to_owned(), run.into());
        if !guest.is_empty() {
            file.insert("guest".to_owned(), packages(guest).into());
        }
        file.insert("component".to_owned(), Value::Array(stack.0.iter().map(layer).collect()));
        file.insert("checker".to_owned(), checker.into());
        file.to_string()
    }
}

fn packages(GuestPackages { packages, without, rootfs }: &GuestPackages) -> Table {
    let mut table = Table::new();
    for (key, names) in [("packages", packages), ("without", without)] {
        if !names.is_empty() {
            table.insert(key.to_owned(), names.clone().into());
        }
    }
    if let Some(archive) = rootfs {
        table.insert("rootfs".to_owned(), archive.file.as_str().into());
    }
    table
}

fn set<'k>(layer: &mut Layer, options: impl IntoIterator<Item = (&'k str, OptionValue)>) {
    for (key, value) in options {
        layer.options = std::mem::take(&mut layer.options).with(key, value);
    }
}

fn layer(layer: &Layer) -> Value {
    let mut table = options(&layer.options);
    table.insert("name".to_owned(), layer.name.as_str().into());
    if !layer.has_commands() {
        table.insert("use".to_owned(), layer.component.as_str().into());
    }
    if !layer.children.is_empty() {
        let children = layer.children.iter().map(|child| child.as_str().into()).collect();
        table.insert("children".to_owned(), Value::Array(children));
    }
    table.into()
}

fn options(options: &Options) -> Table {
    options.iter().map(|(key, option)| (key.to_owned(), value(option))).collect()
}

/// Converts an option. Numbers in stack files have 63 bits, and no option of explode is larger.
fn value(option: &OptionValue) -> Value {
    match option {
        OptionValue::Bool(yes) => (*yes).into(),
        OptionValue::Int(number) => i64::try_from(*number).unwrap_or(i64::MAX).into(),
        OptionValue::Text(text) => text.as_str().into(),
        OptionValue::List(list) => Value::Array(list.iter().map(value).collect()),
        OptionValue::Table(table) => {
            Value::Table(table.iter().map(|(key, option)| (key.clone(), value(option))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;
    use crate::stack_file::StackFile;

    /// A cell of a stack file with packages runs in a guest with these packages.
    #[test]
    fn a_cell_has_the_packages_of_its_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.toml");
        let archive = folder.path().join("root.tar");
        std::fs::write(&archive, [0; 1024]).unwrap();
        let registry = crate::registry();
        let stack = "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"ext2\"\n";
        for guest in [
            "packages = [\"gawk\", \"attr\"]\nwithout = [\"libsigsegv2\"]",
            "rootfs = \"root.tar\"",
        ] {
            std::fs::write(&path, format!("[guest]\n{guest}\n{stack}")).unwrap();
            let row = Row::named(&registry, path.to_str().unwrap()).unwrap();
            assert!(!row.guest.is_empty());
            let column = Column::named(&registry, "synced").unwrap();
            let grid = Grid::of_cell(&row, &column);
            let cell = CellFile::new(&registry, &grid, &row, &column).unwrap();
            let without = cell.without_flushes().unwrap();
            for file in [cell.file(), without.file(), cell.on_few_disks().file()] {
                let read =
                    StackFile::of_text(&registry, Cli::command, Path::new("check.toml"), &file);
                assert_eq!(read.unwrap().guest, row.guest, "{file}");
            }
        }
    }
}
