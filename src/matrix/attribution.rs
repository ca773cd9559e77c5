//! The layer that a finding accuses when one layer is varied (EX-7), and the safe ways of each
//! system (EX-117).

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::base::ExactCount;
use explode_runtime::report::Finding;
use serde::Serialize;

use super::cell::{Cell, CellOutcome};
use super::grid::{Column, Grid};
use super::left_out::{LeftOutLayer, ShowsWithout};
use super::row::Row;

/// A finding of one check on some systems, and the layer that it accuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttributedFinding {
    /// The check's name.
    pub check: String,
    /// The signature. Findings with the same signature are one bug.
    pub signature: String,
    /// True if the profiles of all these systems exclude it.
    pub by_design: bool,
    /// The systems that show it.
    pub systems: Vec<String>,
    /// The number of systems on which the check has a verdict.
    pub of: usize,
    /// The number of drivers of the systems that show it.
    pub drivers: usize,
    pub of_drivers: usize,
    /// `system`, `systems`, `undecided`, or `above`.
    pub layer: AccusedLayer,
    /// The layers of these systems that were left out, and whether it shows without them.
    pub without: Vec<WithoutLayer>,
}

/// A layer of a system that was left out, and whether a finding shows without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithoutLayer {
    pub system: String,
    pub without: String,
    /// `shows`, `hidden`, or `unknown`.
    pub finding: ShowsWithout,
    /// The number of disks that were checked without the layer.
    pub checked: ExactCount,
    /// The reason why it is unknown.
    pub why: Option<String>,
}

/// The layer that a finding accuses. Systems of one driver count once, because they share its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccusedLayer {
    /// Only one system shows it: that system.
    System,
    /// A few systems show it: each of them.
    Systems,
    /// More systems show it, but not nearly all: each of them, or the layer above, whose omission
    /// the other systems make up for.
    Undecided,
    /// Nearly all systems show it: a part that they share, the layer above, or the check.
    Above,
}

/// The number of drivers from which on the share of drivers is significant.
const FEW: usize = 4;

/// Attributes the findings of each check, in the order of the grid.
pub fn faults(grid: &Grid, cells: &[Cell]) -> Vec<AttributedFinding> {
    let mut faults = Vec::new();
    for column in &grid.checks {
        let of_column = |cell: &&Cell| cell.check == column.name && has_result(cell);
        let cells: Vec<&Cell> = cells.iter().filter(of_column).collect();
        // For each signature: the systems that show it, and whether it is by design there.
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
                without: without(&cells, signature),
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

/// Returns the runs without a layer of the cells that have a bug of this signature.
fn without(cells: &[&Cell], signature: &str) -> Vec<WithoutLayer> {
    let has_bug = |cell: &&&Cell| cell.bugs().any(|bug| bug.signature == signature);
    let of_cell = |cell: &&Cell| {
        let system = cell.system.clone();
        let of_layer = move |left_out: &LeftOutLayer| {
            let finding = left_out.shows(signature);
            let why = left_out.why.clone().filter(|_| finding == ShowsWithout::Unknown);
            let (without, checked) = (left_out.layer.clone(), left_out.checked.clone());
            WithoutLayer { system: system.clone(), without, finding, checked, why }
        };
        cell.left_out.iter().map(of_layer).collect::<Vec<_>>()
    };
    cells.iter().filter(has_bug).flat_map(of_cell).collect()
}

/// Returns the layer accused by a finding on `systems` systems of `drivers` drivers out of
/// `of_drivers`. Nearly all: at most one driver in five does not show it.
fn layer(systems: usize, drivers: usize, of_drivers: usize) -> AccusedLayer {
    match drivers {
        _ if of_drivers >= FEW && drivers * 5 >= of_drivers * 4 => AccusedLayer::Above,
        _ if drivers >= FEW => AccusedLayer::Undecided,
        _ if systems == 1 => AccusedLayer::System,
        _ => AccusedLayer::Systems,
    }
}

fn has_result(cell: &Cell) -> bool {
    matches!(cell.outcome, CellOutcome::Pass | CellOutcome::ByDesign | CellOutcome::Bug)
}

/// The ways to make data durable on a system, by their safety.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SafetySummary {
    pub system: String,
    /// The ways without a loss on any disk within the bounds, whose check sees losses.
    pub safe: Vec<String>,
    /// The ways without a loss so far. Not all disks within the bounds were checked.
    pub so_far: Vec<String>,
    /// The ways in doubt. Their own check has found no loss. Another check has found a loss that
    /// this way or another has forced, or a crash disk that cannot be recovered or mounted.
    pub in_doubt: Vec<String>,
    /// The ways with a loss that any check has found, by design or not.
    pub not: Vec<String>,
    /// The ways for which the system's profile promises nothing.
    pub not_promised: Vec<String>,
    /// The ways without a verdict: inconclusive, not supported, broken or not run.
    pub unknown: Vec<String>,
    /// For each way that is in doubt or not safe although its own check has found nothing: the
    /// checks that have found the cause.
    pub found_by: BTreeMap<String, Vec<String>>,
}

/// Returns one summary for each system. Empty if the grid has no ways.
pub fn safe(grid: &Grid, cells: &[Cell]) -> Vec<SafetySummary> {
    let methods: Vec<&Column> = grid.checks.iter().filter(|check| check.is_sync_method).collect();
    if methods.is_empty() {
        return Vec::new();
    }
    let of = |system: &str| {
        let mut safe = SafetySummary { system: system.to_owned(), ..SafetySummary::default() };
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.system == system).collect();
        for method in &methods {
            let found = |is: &dyn Fn(&Finding) -> bool| {
                let others = cells.iter().filter(|cell| cell.check != method.name);
                let others = others.filter(|cell| cell.findings.iter().any(is));
                others.map(|cell| cell.check.clone()).collect::<Vec<_>>()
            };
            let lost = found(&|finding| method.is_about(finding));
            let doubts = found(&|finding| method.may_be_about(finding));
            let cell = cells.iter().find(|cell| cell.check == method.name);
            let whole = |cell: &Cell| cell.summary.as_ref().is_some_and(|summary| summary.complete);
            let list = match cell.map_or(CellOutcome::NotRun, |cell| cell.outcome) {
                _ if !cell.is_none_or(|cell| cell.is_promised()) => &mut safe.not_promised,
                CellOutcome::Bug | CellOutcome::ByDesign => &mut safe.not,
                _ if !lost.is_empty() => {
                    safe.found_by.insert(method.name.clone(), lost);
                    &mut safe.not
                }
                CellOutcome::Pass if !doubts.is_empty() => {
                    safe.found_by.insert(method.name.clone(), doubts);
                    &mut safe.in_doubt
                }
                CellOutcome::Pass if cell.is_some_and(|cell| whole(cell)) => &mut safe.safe,
                CellOutcome::Pass => &mut safe.so_far,
                _ => &mut safe.unknown,
            };
            list.push(method.name.clone());
        }
        safe
    };
    grid.systems.iter().map(|row| of(&row.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::{AccusedLayer, layer};

    /// Each case: the systems, their drivers, and all drivers.
    #[test]
    fn a_bug_of_nearly_all_drivers_accuses_the_layer_above() {
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
        // A synchronous mount fails on three systems of ext4's driver, on ext2 and on two of FAT's
        // driver, but not on XFS: three drivers of four.
        assert_eq!(of(&[(6, 3, 4), (3, 1, 4)]), [systems, systems]);
    }
}
