//! Whose fault it is when one layer is varied (EX-7), and what is safe where (EX-117).

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::report::Finding;
use serde::Serialize;

use super::cell::{Cell, CellOutcome};
use super::grid::{Column, Grid, Row};

/// What one check has found on some systems, and which layer that accuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttributedFinding {
    /// The check's name.
    pub check: String,
    /// What was found: findings with the same signature are one bug.
    pub signature: String,
    /// Do the profiles of all these systems exclude it?
    pub by_design: bool,
    /// The systems that show it.
    pub systems: Vec<String>,
    /// The number of systems on which the check has a verdict.
    pub of: usize,
    /// Of so many drivers these systems are, and those.
    pub drivers: usize,
    pub of_drivers: usize,
    /// `system`, `systems`, `undecided`, or `above`.
    pub layer: AccusedLayer,
}

/// The layer that a finding accuses. Systems of one driver count once: they have that in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccusedLayer {
    /// It is found on one system alone: that one.
    System,
    /// On a few: each of them.
    Systems,
    /// On more, not on nearly all: each of them, or the layer above, where the others do what it
    /// leaves to them.
    Undecided,
    /// On nearly all: what they have in common, the layer above, or the check.
    Above,
}

/// Fewer drivers than this say nothing about what they have in common.
const FEW: usize = 4;

/// Goes through each check's row of systems, in the order of the grid.
pub fn faults(grid: &Grid, cells: &[Cell]) -> Vec<AttributedFinding> {
    let mut faults = Vec::new();
    for column in &grid.checks {
        let of_column = |cell: &&Cell| cell.check == column.name && says_something(cell);
        let cells: Vec<&Cell> = cells.iter().filter(of_column).collect();
        // Of each signature, where it was found, and whether it is by design there.
        let mut found: BTreeMap<&str, BTreeMap<&str, bool>> = BTreeMap::new();
        for cell in &cells {
            for finding in &cell.findings {
                let by_design = found
                    .entry(&finding.signature)
                    .or_default()
                    .entry(&cell.system)
                    .or_insert(true);
                *by_design &= finding.by_design;
            }
        }
        let rows = |is_one: &dyn Fn(&str) -> bool| {
            grid.systems.iter().filter(|row| is_one(&row.name)).collect::<Vec<&Row>>()
        };
        let drivers =
            |rows: &[&Row]| rows.iter().map(|row| row.driver()).collect::<BTreeSet<_>>().len();
        let of_drivers = drivers(&rows(&|name| cells.iter().any(|cell| cell.system == name)));
        faults.extend(found.into_iter().map(|(signature, systems)| {
            let found = rows(&|name| systems.contains_key(name));
            AttributedFinding {
                check: column.name.clone(),
                signature: signature.to_owned(),
                by_design: systems.values().all(|by_design| *by_design),
                systems: found.iter().map(|row| row.name.clone()).collect(),
                of: cells.len(),
                drivers: drivers(&found),
                of_drivers,
                layer: layer(found.len(), drivers(&found), of_drivers),
            }
        }));
    }
    faults
}

/// Of so many systems, of so many drivers of all. Nearly all: at most one in five is without.
fn layer(systems: usize, drivers: usize, of_drivers: usize) -> AccusedLayer {
    match drivers {
        _ if of_drivers >= FEW && drivers * 5 >= of_drivers * 4 => AccusedLayer::Above,
        _ if drivers >= FEW => AccusedLayer::Undecided,
        _ if systems == 1 => AccusedLayer::System,
        _ => AccusedLayer::Systems,
    }
}

fn says_something(cell: &Cell) -> bool {
    matches!(cell.outcome, CellOutcome::Pass | CellOutcome::ByDesign | CellOutcome::Bug)
}

/// Which ways to make things durable are safe on a system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SafetySummary {
    pub system: String,
    /// Nothing was lost on any disk within the bounds of its check, and its control run found a loss.
    pub safe: Vec<String>,
    /// Nothing was lost so far: not all within the bounds was looked at.
    pub so_far: Vec<String>,
    /// Its own check has lost nothing, and another check something that this way, or another one,
    /// has forced; or what a crash has left could not be recovered or mounted.
    pub in_doubt: Vec<String>,
    /// Something was lost, by design or not, and by whichever check it was found.
    pub not: Vec<String>,
    /// The system's profile promises nothing of it.
    pub not_promised: Vec<String>,
    /// Unknown: inconclusive, not supported, broken, not run.
    pub unknown: Vec<String>,
    /// Of each way whose own check has found nothing, and that is in doubt or not safe, the checks
    /// that have found what makes it so.
    pub found_by: BTreeMap<String, Vec<String>>,
}

/// One for each system, if the grid has ways at all.
pub fn safe(grid: &Grid, cells: &[Cell]) -> Vec<SafetySummary> {
    let ways: Vec<&Column> = grid.checks.iter().filter(|check| check.way).collect();
    if ways.is_empty() {
        return Vec::new();
    }
    let of = |system: &str| {
        let mut safe = SafetySummary { system: system.to_owned(), ..SafetySummary::default() };
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.system == system).collect();
        for way in &ways {
            let found = |is: &dyn Fn(&Finding) -> bool| {
                let others = cells.iter().filter(|cell| cell.check != way.name);
                let others = others.filter(|cell| cell.findings.iter().any(is));
                others.map(|cell| cell.check.clone()).collect::<Vec<_>>()
            };
            let lost = found(&|finding| way.is_about(finding));
            let doubts = found(&|finding| way.may_be_about(finding));
            let cell = cells.iter().find(|cell| cell.check == way.name);
            let whole = |cell: &Cell| cell.summary.as_ref().is_some_and(|summary| summary.complete);
            let list = match cell.map_or(CellOutcome::NotRun, |cell| cell.outcome) {
                _ if !cell.is_none_or(|cell| cell.is_promised()) => &mut safe.not_promised,
                CellOutcome::Bug | CellOutcome::ByDesign => &mut safe.not,
                _ if !lost.is_empty() => {
                    safe.found_by.insert(way.name.clone(), lost);
                    &mut safe.not
                }
                CellOutcome::Pass if !doubts.is_empty() => {
                    safe.found_by.insert(way.name.clone(), doubts);
                    &mut safe.in_doubt
                }
                CellOutcome::Pass if cell.is_some_and(|cell| whole(cell)) => &mut safe.safe,
                CellOutcome::Pass => &mut safe.so_far,
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
    use super::{AccusedLayer, layer};

    /// Systems, drivers, and all drivers.
    #[test]
    fn what_is_found_nearly_everywhere_accuses_what_is_common() {
        let of = |cases: &[(usize, usize, usize)]| {
            cases
                .iter()
                .map(|(systems, drivers, of)| layer(*systems, *drivers, *of))
                .collect::<Vec<_>>()
        };
        let [system, systems, undecided, above] = [
            AccusedLayer::System,
            AccusedLayer::Systems,
            AccusedLayer::Undecided,
            AccusedLayer::Above,
        ];
        assert_eq!(of(&[(1, 1, 1), (2, 2, 2), (3, 3, 3)]), [system, systems, systems]);
        assert_eq!(of(&[(3, 3, 4), (4, 4, 4)]), [systems, above]);
        assert_eq!(of(&[(3, 3, 5), (4, 4, 5), (5, 5, 5)]), [systems, above, above]);
        assert_eq!(of(&[(7, 7, 10), (8, 8, 10)]), [undecided, above]);
        // A synchronous mount on three of ext4's driver, ext2, two of FAT's, and not on XFS: three
        // drivers of four.
        assert_eq!(of(&[(6, 3, 4), (3, 1, 4)]), [systems, systems]);
    }
}
