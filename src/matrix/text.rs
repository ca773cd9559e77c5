//! The matrix for a terminal.

use std::path::Path;

use explode_runtime::base::{Mode, Options};
use explode_runtime::report::{DepthCounts, Finding, Paste, brief};
use itertools::Itertools as _;

use super::attribution::{AccusedLayer, AttributedFinding, SafetySummary, WithoutLayer};
use super::cell::{Cell, CellOutcome};
use super::grid::Grid;
use super::left_out::ShowsWithout;
use super::paper;

/// Returns the line of a cell that has ended: its name, its result and its counts.
pub fn cell_line(cell: &Cell, number: usize, of: usize) -> String {
    let Cell { system, check, outcome, why, seconds, .. } = cell;
    let detail = match (why, cell.bugs().next()) {
        (Some(why), _) => why.clone(),
        (None, Some(bug)) => format!("{}: {}", bug.verdict, brief(&bug.message).text),
        (None, None) => counts(cell),
    };
    let detail = first_line(&detail);
    let width = of.to_string().len();
    format!("[{number:>width$}/{of}] {system} {check}: {} [{seconds:.1}s] {detail}", outcome.word())
}

/// Returns the first line of a text, such as an oops of the kernel. The rest follows below the
/// table.
pub fn first_line(text: &str) -> String {
    match text.split_once('\n') {
        Some((first, _)) => format!("{} ...", first.trim_end()),
        None => text.to_owned(),
    }
}

/// Returns the outcome in a word, or the number of bugs.
pub fn word(cell: Option<&Cell>) -> String {
    let bugs = cell.map_or(0, |cell| cell.bugs().count());
    match cell.map_or(CellOutcome::NotRun, |cell| cell.outcome) {
        CellOutcome::Bug if bugs > 1 => format!("{bugs} bugs"),
        outcome => outcome.word().to_owned(),
    }
}

/// Returns the counts of the cell's run.
pub fn counts(cell: &Cell) -> String {
    cell.summary.as_ref().map_or_else(String::new, |summary| {
        let left_out = if summary.left_out.is_zero() {
            String::new()
        } else {
            format!(", {} left out", summary.left_out)
        };
        let of = summary
            .topologies
            .as_ref()
            .map_or_else(String::new, |count| format!(" of {count} topologies"));
        let all = if summary.complete { ", all" } else { "" };
        let depth = DepthCounts::text(&summary.depths).filter(|_| !summary.complete);
        let depth = depth.map_or_else(String::new, |text| format!(", {text}"));
        format!(
            "{} states{of}, {} operations, {} disks checked{all}{left_out}{depth}",
            summary.states, summary.operations, summary.checked
        )
    })
}

/// The conclusions from the cells of a matrix.
#[derive(Clone, Copy)]
pub struct Conclusions<'a> {
    pub faults: &'a [AttributedFinding],
    pub safe: &'a [SafetySummary],
    /// The promises of each system that no check of the matrix tries.
    pub not_tried: &'a [(String, Vec<&'static str>)],
}

/// Returns the table and its conclusions. The last line of a matrix with bugs is a command to
/// paste.
pub fn table(
    grid: &Grid,
    cells: &[Cell],
    concluded: Conclusions<'_>,
    paste: &Paste,
    folder: &Path,
) -> Vec<String> {
    let Conclusions { faults, safe, not_tried } = concluded;
    let mut lines = rows(grid, cells);
    let mut section = |head: &str, section: Vec<String>| {
        if !section.is_empty() {
            lines.push(String::new());
            lines.push(head.to_owned());
            lines.extend(section.iter().map(|line| format!("  {}", line.replace('\n', "\n    "))));
        }
    };
    section("Found", faults.iter().map(fault).collect());
    section("Ways to make things durable", safe.iter().map(describe_safety).collect());
    let untried = |(system, names): &(String, Vec<&str>)| format!("{system}: {}", names.join(", "));
    section("Promises that no check of this matrix tries", not_tried.iter().map(untried).collect());
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
        let odd =
            !matches!(cell.outcome, CellOutcome::Pass | CellOutcome::ByDesign | CellOutcome::Bug);
        let why = cell.why.as_deref().unwrap_or_default();
        odd.then(|| format!("{} {}: {}: {why}", cell.system, cell.check, cell.outcome.word()))
    };
    section("Without a verdict", cells.iter().filter_map(why).collect());
    let broken = |cell: &Cell| {
        let head = format!("{} {}", cell.system, cell.check);
        cell.broken.iter().map(move |text| format!("{head}: {text}")).collect::<Vec<_>>()
    };
    let beside = cells.iter().filter(|cell| cell.outcome != CellOutcome::Broken);
    section("Broken beside that", beside.flat_map(broken).collect());
    let clean = |cell: &Cell| {
        let clean = matches!(cell.outcome, CellOutcome::Pass | CellOutcome::ByDesign);
        clean.then(|| format!("{} {}: {}", cell.system, cell.check, counts(cell)))
    };
    let bugs = cells.iter().flat_map(|cell| cell.bugs().map(|bug| self::bug(cell, bug)));
    section("Bugs", bugs.flatten().collect());
    section("Checked, and nothing found", cells.iter().filter_map(clean).collect());
    lines.push(String::new());
    lines.push(format!("  folder   {}", folder.display()));
    if let Some((cell, bug)) = cells.iter().find_map(|cell| Some((cell, cell.bugs().next()?))) {
        lines.push(format!("  replay   {}", replay(grid, cell, bug, paste)));
    }
    lines
}

fn rows(grid: &Grid, cells: &[Cell]) -> Vec<String> {
    let word = |system: &str, check: &str| {
        self::word(cells.iter().find(|cell| cell.system == system && cell.check == check))
    };
    let head =
        std::iter::once(String::new()).chain(grid.checks.iter().map(|check| check.name.clone()));
    let row = |system: &str| {
        let words = grid.checks.iter().map(|check| word(system, &check.name));
        std::iter::once(system.to_owned()).chain(words).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = std::iter::once(head.collect())
        .chain(grid.systems.iter().map(|system| row(&system.name)))
        .collect();
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=grid.checks.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut padded = row.iter().zip(&widths).map(|(word, width)| format!("{word:width$}"));
        padded.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Returns the lines of a bug: its message and its trace.
fn bug(cell: &Cell, bug: &Finding) -> [String; 2] {
    [bug_text(cell, bug), format!("  {}", bug.trace)]
}

/// Returns the command that replays a bug of a cell.
pub fn replay(grid: &Grid, cell: &Cell, bug: &Finding, paste: &Paste) -> String {
    let row = grid.systems.iter().find(|row| row.name == cell.system);
    let mode = grid.mode.unwrap_or(Mode::Vm);
    let paste =
        row.map_or_else(|| paste.clone(), |row| paste.for_plan(mode, &row.stack, &Options::none()));
    paste.command("replay", &bug.trace)
}

/// Returns the line of a bug, with the number of checks that have shown it. A kernel's message is
/// cut to one line.
pub fn bug_text(cell: &Cell, bug: &Finding) -> String {
    let Finding { verdict, message, count, .. } = bug;
    let times = match count.to_string().as_str() {
        "1" => "once".to_owned(),
        count => format!("{count} times"),
    };
    format!("{} {}: {verdict}, {times}: {}", cell.system, cell.check, brief(message).text)
}

/// Returns the line of a finding and the layer that it accuses.
pub fn fault(fault: &AttributedFinding) -> String {
    let AttributedFinding { check, signature, by_design, systems, of, .. } = fault;
    let AttributedFinding { drivers, of_drivers, layer, .. } = fault;
    let design = if *by_design { " (by design)" } else { "" };
    let names = systems.join(", ");
    let whom = match layer {
        AccusedLayer::System => format!("{names} alone, of {of}: its own"),
        AccusedLayer::Systems => format!("{names}, of {of}: each its own"),
        AccusedLayer::Undecided => {
            format!(
                "{names}, of {of}: each its own, or a layer above, for which the others make up"
            )
        }
        AccusedLayer::Above => {
            let of_systems = format!("{} of {of}", systems.len());
            let of_drivers = format!("{drivers} of {of_drivers} drivers");
            format!(
                "{of_systems}, {of_drivers}: what they have in common, the layer above, or the \
                 check"
            )
        }
    };
    let without: String = fault.without.iter().map(without).collect();
    format!("{check}: {signature}{design}: {whom}{without}")
}

/// Returns the line of a finding and a layer that was left out.
fn without(run: &WithoutLayer) -> String {
    let WithoutLayer { system, without, finding, checked, why } = run;
    let shows = match finding {
        ShowsWithout::Shows => format!("shows without {without}, too"),
        ShowsWithout::Hidden => {
            format!("shows only with {without}: not on {checked} disks checked without it")
        }
        ShowsWithout::Unknown => {
            let why = first_line(why.as_deref().unwrap_or_default());
            format!("no verdict without {without}: {why}")
        }
    };
    format!("\n{system}: {shows}")
}

/// Returns the line of the safe ways of a system.
pub fn describe_safety(safe: &SafetySummary) -> String {
    let SafetySummary { system, safe, so_far, in_doubt, not, not_promised, unknown, found_by } =
        safe;
    let word = |method: &String| match found_by.get(method) {
        Some(checks) => format!("{method} ({})", checks.join(", ")),
        None => method.clone(),
    };
    let words = |methods: &[String]| match methods {
        [] => "none".to_owned(),
        methods => methods.iter().map(word).join(", "),
    };
    let more = |label: &str, methods: &[String]| match methods {
        [] => String::new(),
        methods => format!("; {label}: {}", words(methods)),
    };
    let rest = [("not promised", not_promised), ("unknown", unknown)]
        .map(|(label, methods)| more(label, methods))
        .concat();
    let so_far = more("no loss so far (sampled)", so_far);
    let in_doubt = in_doubt.chunk_by(|one, other| found_by.get(one) == found_by.get(other));
    let in_doubt = in_doubt.map(|methods| {
        let checks = found_by.get(&methods[0]).map_or_else(String::new, |checks| checks.join(", "));
        format!("; in doubt by {checks}: {}", methods.join(", "))
    });
    let in_doubt: String = in_doubt.collect();
    format!(
        "{system}: safe here: {}{so_far}{in_doubt}; not safe: {}{rest}",
        words(safe),
        words(not)
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::matrix::{Column, Row, page};

    /// A dying kernel prints many lines. The cell and the list of bugs have one each.
    #[test]
    fn a_cell_and_its_bug_are_one_line_each() {
        let check: Column = serde_json::from_value(json!({
            "name": "sync", "about": "", "checker": "fs-ways", "options": {}, "set": [],
            "way": true,
            "bounds": { "depth": 1, "limit": 2, "samples": 2, "crash_depth": 0 },
        }))
        .unwrap();
        let row = Row { name: "hfs".to_owned(), ..Row::default() };
        let bug = serde_json::from_value(json!({
            "id": "0", "verdict": "kernel-oops", "by_design": false, "message": "in step mount: \
                Oops: 0000\nRIP: hfs_find\nCall Trace",
            "epoch": "end", "signature": "fs-ways/kernel-oops/mount", "count": 1,
            "trace": "traces/0.json", "replayed": true,
        }));
        let cell = Cell {
            why: None,
            findings: vec![bug.unwrap()],
            ..Cell::without(&row, &check, CellOutcome::Bug, "")
        };
        let line = cell_line(&cell, 1, 1);
        assert_eq!(
            line,
            "[1/1] hfs sync: bug [0.0s] kernel-oops: in step mount: Oops: 0000 in hfs_find"
        );
        let grid = Grid::of_cell(&row, &check);
        let cells = [cell.clone()];
        let none = Conclusions { faults: &[], safe: &[], not_tried: &[] };
        let table = table(&grid, &cells, none, &Paste::new("explode"), Path::new("m")).join("\n");
        let bug_lines = "\nBugs\n  hfs sync: kernel-oops, once: in step mount: Oops: 0000 in \
                    hfs_find\n    traces/0.json\n";
        assert!(table.contains(bug_lines), "{table}");
        assert!(
            page(&grid, &cells, &[], &[], &Paste::new("explode"))
                .contains("Oops: 0000 in hfs_find; ")
        );
        let broken = Cell {
            outcome: CellOutcome::Broken,
            why: Some("no start:\nthe rest".to_owned()),
            ..cell
        };
        assert!(cell_line(&broken, 1, 1).ends_with(" no start: ..."));
        assert!(
            page(&grid, &[broken], &[], &[], &Paste::new("explode"))
                .contains("<small>no start: ...</small>")
        );
    }
}
