//! The result of a cell.
//!
//! A cell passes only if the same check finds a loss in a control run, whose disks drop their
//! flushes. If the control run finds none either, a check without findings proves nothing: the cell
//! is `inconclusive`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use explode_runtime::base::{Exit, durable_write, read_plain_at_most};
use explode_runtime::plan::Registry;
use explode_runtime::report::{Finding, Summary};
use explode_runtime::verdict::{BrokenKind, Verdict};
use itertools::Itertools as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cell_run::{self, CellLimits, CellRun, Unable};
use super::grid::{CELL_FILE, Column, Grid};
use super::left_out::{self, LeftOutLayer};
use super::row::Row;
use super::{CellFile, hang_recheck};
use crate::output;

/// The result of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellOutcome {
    /// The check found nothing, and its control run found a loss.
    Pass,
    /// Every finding is excluded by the system's profile.
    ByDesign,
    /// A finding was replayed.
    Bug,
    /// Neither the check nor its control run found a loss.
    #[serde(alias = "blind")]
    Inconclusive,
    /// The system lacks what the check needs, or the machine does.
    NotSupported,
    /// The tool, a component or the machine failed.
    Broken,
    /// The time was up before a disk was checked.
    NotRun,
}

impl CellOutcome {
    /// All outcomes, the best first.
    pub const ALL: [CellOutcome; 7] = [
        CellOutcome::Pass,
        CellOutcome::ByDesign,
        CellOutcome::Bug,
        CellOutcome::Inconclusive,
        CellOutcome::NotSupported,
        CellOutcome::Broken,
        CellOutcome::NotRun,
    ];

    /// Returns the outcome's word on the terminal.
    pub fn word(self) -> &'static str {
        match self {
            CellOutcome::Pass => "pass",
            CellOutcome::ByDesign => "by design",
            CellOutcome::Bug => "bug",
            CellOutcome::Inconclusive => "inconclusive",
            CellOutcome::NotSupported => "not supported",
            CellOutcome::Broken => "broken",
            CellOutcome::NotRun => "not run",
        }
    }

    /// Returns the outcome's key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            CellOutcome::Pass => "pass",
            CellOutcome::ByDesign => "by_design",
            CellOutcome::Bug => "bug",
            CellOutcome::Inconclusive => "inconclusive",
            CellOutcome::NotSupported => "not_supported",
            CellOutcome::Broken => "broken",
            CellOutcome::NotRun => "not_run",
        }
    }
}

/// A cell that was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    pub system: String,
    pub check: String,
    pub outcome: CellOutcome,
    /// The reason if it is by design, not supported, broken, inconclusive or not run.
    pub why: Option<String>,
    /// The line of the profile that excludes all that the check is about. `None` if there is no
    /// such line. A file without this key is of an earlier version, and its cell is run again.
    #[serde(deserialize_with = "Option::deserialize")]
    pub profile: Option<String>,
    /// The findings that were replayed, those by design included.
    pub findings: Vec<Finding>,
    /// The failures of the tool, a component or the machine.
    pub broken: Vec<String>,
    /// The counts of the run. `None` if it did not end.
    pub summary: Option<Summary>,
    /// The signature of the loss that the control run found. `None` without a control run or a
    /// loss.
    pub sees: Option<String>,
    /// The runs without a layer, if the cell has a bug.
    #[serde(default)]
    pub left_out: Vec<LeftOutLayer>,
    /// The time of all runs.
    pub seconds: f64,
}

/// The size up to which a cell file is read, in bytes.
const MOST_BYTES: u64 = 1 << 26;

/// Returns the path of a trace of the cell at `place`. The folder may have been moved since the
/// trace was written.
fn moved(trace: &str, place: &Path) -> String {
    // RUN/traces/<id>.json, in the folder of the cell.
    let parts: Vec<_> = Path::new(trace).components().rev().take(3).collect();
    let path = place.join(parts.iter().rev().collect::<PathBuf>());
    if path.is_file() { path.display().to_string() } else { trace.to_owned() }
}

impl Cell {
    /// Returns a cell without a run.
    pub fn without(
        row: &Row,
        column: &Column,
        outcome: CellOutcome,
        why: impl Into<String>,
    ) -> Cell {
        Cell {
            system: row.name.clone(),
            check: column.name.clone(),
            outcome,
            why: Some(why.into()),
            profile: None,
            findings: Vec::new(),
            broken: Vec::new(),
            summary: None,
            sees: None,
            left_out: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Reads the cell of an earlier process. `None` if there is no cell, or if it was not run.
    pub fn read(place: &Path) -> Option<Cell> {
        let text = read_plain_at_most(&place.join(CELL_FILE), MOST_BYTES).ok()?;
        let mut cell: Cell = serde_json::from_slice(&text).ok()?;
        cell.findings.iter_mut().for_each(|finding| finding.trace = moved(&finding.trace, place));
        (cell.outcome != CellOutcome::NotRun).then_some(cell)
    }

    /// Writes the cell to its folder.
    pub fn write(&self, place: &Path) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(&self.json()).expect("a cell is plain data");
        durable_write(&place.join(CELL_FILE), &text)
    }

    /// Returns the cell as JSON. `outcome_was` has the word of the last release for an outcome that
    /// was renamed since.
    pub fn json(&self) -> Value {
        let mut value = json!(self);
        if self.outcome == CellOutcome::Inconclusive {
            value["outcome_was"] = "blind".into();
        }
        value
    }

    /// Returns true if no line of the profile excludes all that the check is about.
    pub fn is_promised(&self) -> bool {
        self.profile.is_none()
    }

    /// Returns the findings that are not by design.
    pub fn bugs(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !finding.by_design)
    }
}

/// Runs the check. If it finds nothing, runs it again as a control, on disks that drop their
/// flushes, within the budget `control`. If it finds a bug, runs it again without each layer,
/// within that budget. `place` is the cell's folder.
///
/// # Errors
/// A file cannot be written, or a process cannot be started.
pub fn run_cell(
    registry: &Registry,
    grid: &Grid,
    row: &Row,
    column: &Column,
    place: &Path,
    limits: CellLimits<'_>,
    control: Duration,
) -> std::io::Result<Cell> {
    let begin = Instant::now();
    let mut cell = match CellFile::new(registry, grid, row, column) {
        Err(why) => Cell::without(row, column, CellOutcome::NotSupported, why),
        Ok(cell_file) => {
            // An interrupted process may have left a part of the cell.
            if place.exists() {
                std::fs::remove_dir_all(place)?;
            }
            let once = |cell_file: &CellFile<'_>, name: &str, limits: CellLimits<'_>| {
                std::fs::create_dir_all(place)?;
                let file = place.join(format!("{name}.toml"));
                durable_write(&file, cell_file.file().as_bytes())?;
                cell_run::run(&file, &place.join(name), limits)
            };
            let run = once(&cell_file, "check", limits)?;
            let run = hang_recheck::sift(registry, row, run, limits)?;
            let mut cell = judge(row, column, run, limits.budget);
            if cell.outcome == CellOutcome::Bug {
                let bugs = cell.bugs().map(|bug| bug.signature.as_str()).collect();
                let limits = CellLimits { budget: control, ..limits };
                cell.left_out = left_out::run(registry, grid, row, column, &bugs, &once, limits)?;
            }
            if cell.outcome == CellOutcome::Pass {
                let limits = CellLimits { budget: control, until: Some(&is_loss), ..limits };
                let run = match cell_file.without_flushes() {
                    None => None,
                    Some(cell_file) => {
                        let few = once(&cell_file.on_few_disks(), "no-flush", limits)?;
                        let all = has_seen_nothing(&few)
                            .then(|| once(&cell_file, "no-flush-all", limits));
                        Some(all.transpose()?.unwrap_or(few))
                    }
                };
                see(&mut cell, run, control);
            }
            cell
        }
    };
    cell.seconds = begin.elapsed().as_secs_f64();
    std::fs::create_dir_all(place)?;
    cell.write(place)?;
    Ok(cell)
}

/// Judges the run of the check itself. A pass still needs its control run.
fn judge(row: &Row, column: &Column, run: CellRun, budget: Duration) -> Cell {
    let CellRun { findings, broken, summary, code, stderr, hung, interrupted, replay: _ } = run;
    let (replayed, other): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| finding.replayed);
    let checked = summary.as_ref().is_some_and(|summary| !summary.checked.is_zero());
    let crashed_twice =
        summary.as_ref().is_some_and(|summary| !summary.crash_crash_disks.is_zero());
    let bug = replayed.iter().any(|finding| !finding.by_design);
    let unsupported = |unable: &Unable| unable.kind == BrokenKind::Unsupported;
    let profile = broken.iter().find_map(|unable| unable.profile.clone());
    let first = || match broken.first() {
        Some(unable) => unable.message.clone(),
        None => last_line(&stderr),
    };
    let (outcome, why) = match code {
        _ if bug => (CellOutcome::Bug, None),
        _ if interrupted => (CellOutcome::NotRun, Some("interrupted".to_owned())),
        _ if hung => (
            CellOutcome::Broken,
            Some(format!("it did not end within its {budget:?}, and was killed")),
        ),
        // Some systems refuse a call only when it is made: directories of HFS cannot be fsynced.
        _ if !broken.is_empty() && broken.iter().all(unsupported) => {
            (CellOutcome::NotSupported, Some(first()))
        }
        Some(code) if code == Exit::Unsupported as i32 => {
            (CellOutcome::NotSupported, Some(first()))
        }
        Some(code) if code == Exit::Clean as i32 => match other.first() {
            Some(one) => (
                CellOutcome::Broken,
                Some(format!("{} was found, and did not replay", one.signature)),
            ),
            None if !replayed.is_empty() => {
                (CellOutcome::ByDesign, Some(excluded(&replayed).join("; ")))
            }
            None if checked && column.bounds.crash_depth > 0 && !crashed_twice => (
                CellOutcome::Inconclusive,
                Some("recovery wrote nothing that a crash could have interrupted".to_owned()),
            ),
            None if checked => (CellOutcome::Pass, None),
            None => (CellOutcome::NotRun, Some(format!("no disk was checked within {budget:?}"))),
        },
        _ => (CellOutcome::Broken, Some(first())),
    };
    // The messages of a run that was refused are its reason, and no failures.
    let refused = code == Some(Exit::Unsupported as i32);
    let broken = broken.into_iter().filter(|_| !refused).map(|unable| unable.message).collect();
    Cell {
        outcome,
        why,
        profile,
        findings: replayed,
        broken,
        summary,
        ..Cell::without(row, column, outcome, "")
    }
}

/// Returns the last line that a process printed on standard error, without the prefix of errors.
fn last_line(stderr: &str) -> String {
    let line = stderr.lines().last().unwrap_or("it printed no error");
    line.strip_prefix(output::ERROR).unwrap_or(line).to_owned()
}

/// Returns the lines of a profile that exclude the findings, each once.
pub fn excluded(findings: &[Finding]) -> Vec<String> {
    findings.iter().filter_map(|finding| finding.profile.clone()).sorted().dedup().collect()
}

/// Returns true if the finding of a control run shows that the check detects losses. A kernel that
/// dies of a disk shows nothing about the check, nor does a repair that gives up. A finding by
/// design shows nothing about the promises.
fn is_loss(finding: &Finding) -> bool {
    let is_loss =
        matches!(finding.verdict, Verdict::Lost | Verdict::Corrupt | Verdict::Resurrected);
    is_loss && !finding.by_design
}

/// Returns true if the control run ended and found no loss.
fn has_seen_nothing(control: &CellRun) -> bool {
    let ended = control.summary.as_ref().is_some_and(|summary| summary.pending.is_zero());
    ended
        && !control.interrupted
        && !control.findings.iter().any(|finding| finding.replayed && is_loss(finding))
}

/// Judges a cell by its control run, the run without flushes. `None` if there can be none.
fn see(cell: &mut Cell, control: Option<CellRun>, budget: Duration) {
    let Some(control) = control else {
        cell.outcome = CellOutcome::Inconclusive;
        cell.why = Some("it has no disk whose flushes could be dropped".to_owned());
        return;
    };
    let replayed = || control.findings.iter().filter(|finding| finding.replayed);
    if let Some(found) = replayed().find(|finding| is_loss(finding)) {
        cell.sees = Some(found.signature.clone());
        return;
    }
    let other: Vec<&str> = replayed().map(|finding| finding.signature.as_str()).collect();
    (cell.outcome, cell.why) = match control.summary {
        _ if control.interrupted => (CellOutcome::NotRun, Some("interrupted".to_owned())),
        Some(summary) if control.broken.is_empty() => {
            let within =
                if summary.complete { String::new() } else { format!(" within {budget:?}") };
            let on = format!("found on disks that do not flush{within}");
            (
                CellOutcome::Inconclusive,
                Some(match &other[..] {
                    [] => format!("nothing is {on} either"),
                    other => format!("nothing but {} is {on}", other.join(", ")),
                }),
            )
        }
        _ => {
            let message = control.broken.first().map_or(&control.stderr, |unable| &unable.message);
            (CellOutcome::Broken, Some(format!("on disks that do not flush: {message}")))
        }
    };
}

#[cfg(test)]
mod tests {
    use explode_runtime::base::{Options, TargetBounds};

    use super::*;

    fn judged(broken: &[(BrokenKind, &str)]) -> Cell {
        let row = Row { name: "hfs".to_owned(), ..Row::default() };
        let column = Column {
            name: "fsync".to_owned(),
            about: String::new(),
            checker: "fs-ways".to_owned(),
            options: Options::none(),
            set: Vec::new(),
            bounds: TargetBounds { depth: 1, limit: 1, samples: 1, crash_depth: 0 },
            deepens: false,
            promises: Vec::new(),
            also_depends_on: Vec::new(),
            is_sync_method: true,
        };
        let unable = |(kind, why): &(BrokenKind, &str)| {
            let message = (*why).to_owned();
            Unable { kind: *kind, message, profile: None }
        };
        let broken = broken.iter().map(unable).collect();
        let run = CellRun { broken, code: Some(Exit::Broken as i32), ..CellRun::default() };
        judge(&row, &column, run, Duration::from_secs(1))
    }

    #[test]
    fn an_inconclusive_cell_also_has_the_word_of_the_last_release() {
        let mut cell = judged(&[]);
        assert_eq!(cell.json().get("outcome_was"), None);
        cell.outcome = CellOutcome::Inconclusive;
        let mut json = cell.json();
        assert_eq!(
            (&json["outcome"], &json["outcome_was"]),
            (&json!("inconclusive"), &json!("blind"))
        );
        json["outcome"] = json["outcome_was"].take();
        let earlier: Cell = serde_json::from_value(json).expect("it reads the earlier word");
        assert_eq!(earlier.outcome, CellOutcome::Inconclusive);
    }

    #[test]
    fn an_unsupported_call_makes_a_cell_not_supported() {
        let why = "way 'fsync' after creat /a: EINVAL: Invalid argument";
        let without = (BrokenKind::Unsupported, why);
        let cell = judged(&[without, without]);
        assert_eq!((cell.outcome, cell.why.as_deref()), (CellOutcome::NotSupported, Some(why)));
        // The kind decides, not the words.
        let failed = (BrokenKind::Component, "unsupported: mount failed");
        assert_eq!(judged(&[without, failed]).outcome, CellOutcome::Broken);
    }

    /// A loss by design proves nothing: a check that finds nothing else on disks that do not flush
    /// is inconclusive.
    #[test]
    fn a_loss_by_design_does_not_confirm_the_control_run() {
        let found = |promise: &str, by_design: bool| -> Finding {
            let finding = serde_json::json!({
                "id": "0", "verdict": "lost", "by_design": by_design, "message": "", "epoch": "end",
                "count": 1,
                "signature": format!("fs-replaced/lost/{promise}"), "trace": "", "replayed": true,
            });
            serde_json::from_value(finding).expect("it is one")
        };
        let seen = |findings: &[Finding]| {
            let mut cell = judged(&[]);
            (cell.outcome, cell.why) = (CellOutcome::Pass, None);
            let summary = Some(Summary { complete: true, ..Summary::default() });
            let control = CellRun {
                findings: findings.to_vec(),
                summary,
                code: Some(0),
                ..CellRun::default()
            };
            see(&mut cell, Some(control), Duration::from_secs(1));
            (cell.outcome, cell.sees, cell.why)
        };
        let by_design = found("replaced-by-rename", true);
        let why =
            "nothing but fs-replaced/lost/replaced-by-rename is found on disks that do not flush";
        assert_eq!(
            seen(std::slice::from_ref(&by_design)),
            (CellOutcome::Inconclusive, None, Some(why.to_owned()))
        );
        let sees = Some("fs-replaced/lost/replaced-name".to_owned());
        assert_eq!(
            seen(&[by_design, found("replaced-name", false)]),
            (CellOutcome::Pass, sees, None)
        );
    }
}
