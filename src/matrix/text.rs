//! The matrix for a terminal.

use std::path::Path;

use explode_runtime::report::{Finding, quoted};

use super::cell::{Cell, Outcome};
use super::grid::Grid;
use super::layers::{Fault, Layer, Safe};
use super::paper;

/// A cell as it ends: which, what came of it, and how much was looked at.
pub fn cell_line(cell: &Cell, number: usize, of: usize) -> String {
    let Cell { system, check, outcome, why, seconds, .. } = cell;
    let what = match (why, cell.bugs().next()) {
        (Some(why), _) => why.clone(),
        (None, Some(bug)) => format!("{}: {}", bug.verdict, bug.message),
        (None, None) => counts(cell),
    };
    let width = of.to_string().len();
    format!("[{number:>width$}/{of}] {system} {check}: {} [{seconds:.1}s] {what}", outcome.word())
}

/// What a cell says in a word, or how many bugs.
pub fn word(cell: Option<&Cell>) -> String {
    let bugs = cell.map_or(0, |cell| cell.bugs().count());
    match cell.map_or(Outcome::NotRun, |cell| cell.outcome) {
        Outcome::Bug if bugs > 1 => format!("{bugs} bugs"),
        outcome => outcome.word().to_owned(),
    }
}

/// How much was looked at.
pub fn counts(cell: &Cell) -> String {
    cell.summary.as_ref().map_or_else(String::new, |summary| {
        let left_out = if summary.left_out.is_zero() {
            String::new()
        } else {
            format!(", {} left out", short(&summary.left_out.to_string()))
        };
        let of =
            summary.topologies.as_ref().map_or_else(String::new, |count| format!(" of {count} topologies"));
        let all = if summary.complete { ", all" } else { "" };
        format!(
            "{} states{of}, {} operations, {} disks checked{all}{left_out}",
            summary.states, summary.operations, summary.checked
        )
    })
}

/// A number that is too long to read is told by its power of ten.
fn short(digits: &str) -> String {
    const LONG: usize = 12;
    if digits.len() > LONG { format!("about 10^{}", digits.len() - 1) } else { digits.to_owned() }
}

/// The table, and what follows from it; the last line of a matrix with bugs is a command to paste.
pub fn table(
    grid: &Grid,
    cells: &[Cell],
    faults: &[Fault],
    safe: &[Safe],
    program: &str,
    folder: &Path,
) -> Vec<String> {
    let mut lines = rows(grid, cells);
    let mut section = |head: &str, section: Vec<String>| {
        if !section.is_empty() {
            lines.push(String::new());
            lines.push(head.to_owned());
            lines.extend(section.into_iter().map(|line| format!("  {line}")));
        }
    };
    section("Found", faults.iter().map(fault).collect());
    section("Ways to make things durable", safe.iter().map(ways).collect());
    section("In 2006 (Linux 2.6.11, the paper's Table 2)", paper::lines(grid));
    let design = |cell: &Cell| {
        let by_design = cell.findings.iter().filter(|finding| finding.by_design);
        let line = |finding: &Finding| {
            let profile = finding.profile.as_deref().unwrap_or_default();
            format!("{} {}: {}: {profile}", cell.system, cell.check, finding.signature)
        };
        by_design.map(line).collect::<Vec<_>>()
    };
    section("By design", cells.iter().flat_map(design).collect());
    let why = |cell: &Cell| {
        let odd = !matches!(cell.outcome, Outcome::Pass | Outcome::ByDesign | Outcome::Bug);
        let why = cell.why.as_deref().unwrap_or_default();
        odd.then(|| format!("{} {}: {}: {why}", cell.system, cell.check, cell.outcome.word()))
    };
    section("Without a verdict", cells.iter().filter_map(why).collect());
    let broken = |cell: &Cell| {
        let head = format!("{} {}", cell.system, cell.check);
        cell.broken.iter().map(move |what| format!("{head}: {what}")).collect::<Vec<_>>()
    };
    let beside = cells.iter().filter(|cell| cell.outcome != Outcome::Broken);
    section("Broken beside that", beside.flat_map(broken).collect());
    let clean = |cell: &Cell| {
        let clean = matches!(cell.outcome, Outcome::Pass | Outcome::ByDesign);
        clean.then(|| format!("{} {}: {}", cell.system, cell.check, counts(cell)))
    };
    let bugs = cells.iter().flat_map(|cell| cell.bugs().map(|bug| self::bug(cell, bug)));
    section("Bugs", bugs.flatten().collect());
    section("Looked at, and clean", cells.iter().filter_map(clean).collect());
    lines.push(String::new());
    lines.push(format!("  folder   {}", folder.display()));
    if let Some(bug) = cells.iter().flat_map(Cell::bugs).next() {
        lines.push(format!("  replay   {} replay {}", quoted(program), quoted(&bug.trace)));
    }
    lines
}

fn rows(grid: &Grid, cells: &[Cell]) -> Vec<String> {
    let word = |system: &str, check: &str| {
        self::word(cells.iter().find(|cell| cell.system == system && cell.check == check))
    };
    let head = std::iter::once(String::new()).chain(grid.checks.iter().map(|check| check.name.clone()));
    let row = |system: &str| {
        let words = grid.checks.iter().map(|check| word(system, &check.name));
        std::iter::once(system.to_owned()).chain(words).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(head.collect()).chain(grid.systems.iter().map(|system| row(&system.name))).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=grid.checks.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(word, width)| format!("{word:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A bug and its trace.
fn bug(cell: &Cell, bug: &Finding) -> [String; 2] {
    [told(cell, bug), format!("  {}", bug.trace)]
}

/// A bug, and how many checks have shown it.
pub fn told(cell: &Cell, bug: &Finding) -> String {
    let Finding { verdict, message, count, .. } = bug;
    let times = match count.to_string().as_str() {
        "1" => "once".to_owned(),
        count => format!("{count} times"),
    };
    format!("{} {}: {verdict}, {times}: {message}", cell.system, cell.check)
}

/// One finding, and whom it accuses.
pub fn fault(fault: &Fault) -> String {
    let Fault { check, signature, by_design, systems, of, layer } = fault;
    let design = if *by_design { " (by design)" } else { "" };
    let whom = match layer {
        Layer::System => format!("{} alone, of {of}: its own", systems[0]),
        Layer::Systems => format!("{}, of {of}: each its own", systems.join(", ")),
        Layer::Above => {
            format!("{} of {of}: what they have in common, the layer above, or the check", systems.len())
        }
    };
    format!("{check}: {signature}{design}: {whom}")
}

/// What is safe on a system.
pub fn ways(safe: &Safe) -> String {
    let words = |ways: &[String]| if ways.is_empty() { "none".to_owned() } else { ways.join(", ") };
    let Safe { system, safe, so_far, not, not_promised, unknown } = safe;
    let more = |what: &str, ways: &[String]| match ways {
        [] => String::new(),
        ways => format!("; {what}: {}", words(ways)),
    };
    let rest =
        [("not promised", not_promised), ("unknown", unknown)].map(|(what, ways)| more(what, ways)).concat();
    let so_far = more("nothing lost so far", so_far);
    format!("{system}: safe here: {}{so_far}; not safe: {}{rest}", words(safe), words(not))
}
