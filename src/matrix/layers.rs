//! Whose fault it is when one layer is varied (EX-7), and what is safe where (EX-117).

use std::collections::BTreeMap;

use serde::Serialize;

use super::cell::{Cell, Outcome};
use super::grid::{Column, Grid};

/// What one check has found on some systems, and which layer that accuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The check's name.
    pub check: String,
    /// What was found: findings with the same signature are one bug.
    pub signature: String,
    /// Do the profiles of all these systems exclude it?
    pub by_design: bool,
    /// Where.
    pub systems: Vec<String>,
    /// Where the check came to a verdict.
    pub of: usize,
    /// `system`, `systems`, or `above`.
    pub layer: Layer,
}

/// The layer that a finding accuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// It is found on one system alone: that one.
    System,
    /// On some, not on most: each of them.
    Systems,
    /// On nearly all: what they have in common, the layer above, or the check.
    Above,
}

/// Fewer systems than this say nothing about what they have in common.
const FEW: usize = 4;

/// Goes through each check's row of systems, in the order of the grid.
pub fn faults(grid: &Grid, cells: &[Cell]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for column in &grid.checks {
        let of_column = |cell: &&Cell| cell.check == column.name && says_something(cell);
        let cells: Vec<&Cell> = cells.iter().filter(of_column).collect();
        // Of each signature, where it was found, and whether it is by design there.
        let mut found: BTreeMap<&str, BTreeMap<&str, bool>> = BTreeMap::new();
        for cell in &cells {
            for finding in &cell.findings {
                let by_design =
                    found.entry(&finding.signature).or_default().entry(&cell.system).or_insert(true);
                *by_design &= finding.by_design;
            }
        }
        let in_order = |systems: &BTreeMap<&str, bool>| {
            let rows = grid.systems.iter().map(|row| row.name.as_str());
            rows.filter(|name| systems.contains_key(name)).map(str::to_owned).collect::<Vec<_>>()
        };
        faults.extend(found.into_iter().map(|(signature, systems)| Fault {
            check: column.name.clone(),
            signature: signature.to_owned(),
            by_design: systems.values().all(|by_design| *by_design),
            systems: in_order(&systems),
            of: cells.len(),
            layer: layer(systems.len(), cells.len()),
        }));
    }
    faults
}

/// Nearly all: at most one in five is without.
fn layer(found: usize, of: usize) -> Layer {
    match found {
        _ if of >= FEW && found * 5 >= of * 4 => Layer::Above,
        1 => Layer::System,
        _ => Layer::Systems,
    }
}

fn says_something(cell: &Cell) -> bool {
    matches!(cell.outcome, Outcome::Pass | Outcome::ByDesign | Outcome::Bug)
}

/// Which ways to make things durable are safe on a system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Safe {
    pub system: String,
    /// Nothing was lost on any disk within the bounds of its check, and the check has eyes.
    pub safe: Vec<String>,
    /// Nothing was lost so far: not all within the bounds was looked at.
    pub so_far: Vec<String>,
    /// Something was lost, by design or not, and by whichever check it was found.
    pub not: Vec<String>,
    /// The system's profile promises nothing of it.
    pub not_promised: Vec<String>,
    /// Nobody knows: blind, not supported, broken, not run.
    pub unknown: Vec<String>,
}

/// One for each system, if the grid has ways at all.
pub fn safe(grid: &Grid, cells: &[Cell]) -> Vec<Safe> {
    let ways: Vec<&Column> = grid.checks.iter().filter(|check| check.way).collect();
    if ways.is_empty() {
        return Vec::new();
    }
    let of = |system: &str| {
        let mut safe = Safe { system: system.to_owned(), ..Safe::default() };
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.system == system).collect();
        for way in &ways {
            let lost = cells.iter().flat_map(|cell| &cell.findings).any(|finding| way.is_about(finding));
            let cell = cells.iter().find(|cell| cell.check == way.name);
            let whole = |cell: &Cell| cell.summary.as_ref().is_some_and(|summary| summary.complete);
            let list = match cell.map_or(Outcome::NotRun, |cell| cell.outcome) {
                _ if !cell.is_none_or(|cell| cell.is_promised()) => &mut safe.not_promised,
                _ if lost => &mut safe.not,
                Outcome::Bug | Outcome::ByDesign => &mut safe.not,
                Outcome::Pass if cell.is_some_and(|cell| whole(cell)) => &mut safe.safe,
                Outcome::Pass => &mut safe.so_far,
                _ => &mut safe.unknown,
            };
            list.push(way.name.clone());
        }
        safe
    };
    grid.systems.iter().map(|row| of(&row.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Layer, layer};

    #[test]
    fn what_is_found_nearly_everywhere_accuses_what_is_common() {
        assert_eq!(layer(1, 1), Layer::System);
        assert_eq!(layer(2, 2), Layer::Systems);
        assert_eq!([layer(1, 3), layer(2, 3), layer(3, 3)], [Layer::System, Layer::Systems, Layer::Systems]);
        assert_eq!([layer(3, 4), layer(4, 4)], [Layer::Systems, Layer::Above]);
        assert_eq!([layer(3, 5), layer(4, 5), layer(5, 5)], [Layer::Systems, Layer::Above, Layer::Above]);
        assert_eq!([layer(7, 10), layer(8, 10)], [Layer::Systems, Layer::Above]);
    }
}
