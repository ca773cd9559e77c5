//! The promises of a system that a check reaches, and those that no check of a matrix reaches.
//!
//! A pass says only that no promise was broken after the histories that the check reaches. A
//! promise without such a history is "not tried".

use explode_runtime::base::UsageError;
use explode_runtime::plan::{CheckedHistories, MatrixColumn, Registry};
use explode_runtime::verdict::{Profile, Promise};
use itertools::Itertools as _;
use serde::Serialize;

use super::row::Row;

/// A promise of a system and whether a check reaches it.
#[derive(Clone, Debug, Serialize)]
pub struct ReachedPromise {
    /// The name that findings use.
    pub promise: &'static str,
    /// The words and their source.
    pub source: String,
    /// The histories after which the check tests it. `None`: not tried.
    pub histories: Option<Histories>,
    /// The checks that test it, this one excluded.
    pub others: Vec<&'static str>,
}

/// The histories that a check reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Histories {
    pub starts: &'static str,
    pub calls: &'static str,
    pub forced: String,
}

/// A cell and all promises of its system.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedCell {
    pub system: String,
    pub check: String,
    pub about: &'static str,
    pub checker: &'static str,
    /// The number of mutates up to which a run goes. `None`: it goes deeper until its time is up.
    pub depth: Option<u32>,
    pub promises: Vec<ReachedPromise>,
}

/// Returns what a cell can say, from its name `SYSTEM/CHECK`.
///
/// # Errors
/// There is no such cell, or the system has no profile.
pub fn explain(registry: &Registry, cell: &str) -> Result<ExplainedCell, UsageError> {
    let (system, check) = cell.rsplit_once('/').ok_or_else(|| {
        UsageError(format!("'{cell}' is no cell; write SYSTEM/CHECK, for instance ext4/workloads"))
    })?;
    let row = Row::named(registry, system)?;
    let columns = registry.columns.iter();
    let found = columns.clone().find(|column| column.name == check);
    let known = columns.map(|column| column.name);
    let column = found.ok_or_else(|| UsageError::unknown("check", check, known))?;
    let profile = profile(registry, &row)?;
    let promises = profile.promises.iter().filter(|line| line.kept);
    Ok(ExplainedCell {
        system: row.name.clone(),
        check: column.name.to_owned(),
        about: column.about,
        checker: column.checker,
        depth: (!column.deepens).then_some(column.bounds.depth),
        promises: promises.map(|line| reached(registry, column, line)).collect(),
    })
}

fn profile(registry: &Registry, row: &Row) -> Result<Profile, UsageError> {
    let none = || {
        UsageError(format!(
            "{} has no profile, so there is no promise to explain; `explode list profiles` names \
             the systems that have one",
            row.name
        ))
    };
    row.profile(registry)?.ok_or_else(none)
}

fn reached(registry: &Registry, column: &MatrixColumn, line: &Promise) -> ReachedPromise {
    let tries = |column: &&MatrixColumn| column.histories.iter().any(|one| has(one, line.name));
    let others = registry.columns.iter().filter(|other| other.name != column.name).filter(tries);
    let found = column.histories.iter().find(|histories| has(histories, line.name));
    let histories = found.map(|CheckedHistories { starts, calls, forced, .. }| Histories {
        starts,
        calls,
        forced: forced.clone(),
    });
    let others = others.map(|other| other.name).collect();
    ReachedPromise { promise: line.name, source: line.to_string(), histories, others }
}

fn has(histories: &CheckedHistories, promise: &str) -> bool {
    histories.promises.iter().any(|name| name == promise)
}

fn names<'a>(promises: impl Iterator<Item = &'a ReachedPromise>) -> String {
    promises.map(|promise| promise.promise).join(", ")
}

impl ExplainedCell {
    /// Returns the lines for a terminal: the histories, each with its promises, then the promises
    /// that are not tried.
    pub fn lines(&self) -> Vec<String> {
        let ExplainedCell { system, check, about, checker, depth, promises } = self;
        let depth = match depth {
            Some(depth) => format!("up to {depth} mutates"),
            None => "as many mutates as its time allows".to_owned(),
        };
        let mut lines = vec![format!("{system} {check}: {about} ({checker}, {depth})")];
        let (tried, not): (Vec<_>, Vec<_>) =
            promises.iter().partition(|promise| promise.histories.is_some());
        for histories in
            tried.iter().flat_map(|promise| &promise.histories).unique_by(|one| &one.forced)
        {
            lines.push(format!("  starts   {}", histories.starts));
            lines.push(format!("  calls    {}", histories.calls));
            lines.push(format!("  forced   {}", histories.forced));
            let of = tried.iter().filter(|promise| promise.histories.as_ref() == Some(histories));
            lines.push(format!("  tried    {}", names(of.copied())));
        }
        for others in not.iter().map(|promise| &promise.others).unique() {
            let of = not.iter().filter(|promise| promise.others == *others);
            let by = if others.is_empty() { "no check".to_owned() } else { others.join(", ") };
            lines.push(format!("  not tried here, but by {by}: {}", names(of.copied())));
        }
        lines
    }
}

/// Returns the promises of each system that none of these checks reaches.
pub fn not_tried(
    registry: &Registry,
    systems: &[Row],
    checks: &[&str],
) -> Vec<(String, Vec<&'static str>)> {
    let columns = registry.columns.iter().filter(|column| checks.contains(&column.name));
    let histories: Vec<&CheckedHistories> = columns.flat_map(|column| &column.histories).collect();
    let is_tried = |name: &str| histories.iter().any(|histories| has(histories, name));
    let of = |row: &Row| {
        let profile = row.profile(registry).ok().flatten()?;
        let kept = profile.promises.iter().filter(|line| line.kept).map(|line| line.name);
        let names: Vec<&str> = kept.filter(|name| !is_tried(name)).unique().collect();
        Some((row.name.clone(), names)).filter(|(_, names)| !names.is_empty())
    };
    systems.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_tells_what_it_tries_and_what_not() {
        let registry = crate::registry();
        let cell = explain(&registry, "ext4/workloads").unwrap();
        let tried = |name: &str| {
            let found = cell.promises.iter().find(|promise| promise.promise == name);
            found.unwrap_or_else(|| panic!("{name} is no promise")).histories.is_some()
        };
        assert!(tried("flushed-contents") && tried("deleted-name"));
        assert!(!tried("replaced-by-rename") && !tried("flushed-attributes"));
        let lines = cell.lines();
        assert!(lines[0].starts_with("ext4 workloads: "), "{lines:?}");
        let by = "  not tried here, but by replaced: replaced-name, replaced-by-rename".to_owned();
        assert!(lines.contains(&by), "{lines:?}");
        assert!(lines[4].starts_with("  tried    flushed-contents, flushed-name, "), "{lines:?}");
        for (wrong, expected) in [
            ("ext4", "write SYSTEM/CHECK"),
            ("ext5/synced", "did you mean 'ext"),
            ("ext4/workload", "did you mean 'workloads'?"),
        ] {
            let error = explain(&registry, wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// Every promise that a system of the matrix keeps is reached by one of its columns.
    #[test]
    fn all_columns_together_try_every_promise() {
        let registry = crate::registry();
        let rows = registry.rows.iter().map(|row| Row::named(&registry, row.name).unwrap());
        let rows: Vec<Row> = rows.collect();
        let all: Vec<&str> = registry.columns.iter().map(|column| column.name).collect();
        assert_eq!(not_tried(&registry, &rows, &all), []);
        let ext4 = [Row::named(&registry, "ext4").unwrap()];
        let not = not_tried(&registry, &ext4, &["moved"]);
        assert!(not[0].1.contains(&"synced-by-sync"), "{not:?}");
        assert!(!not[0].1.contains(&"moved-name"), "{not:?}");
    }
}
