//! The result of a cell.
//!
//! A cell passes only if the same check finds a loss once the flushes of its disks are dropped. If
//! the check cannot see that loss, finding none proves nothing. Then the cell is `blind`.

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
use super::grid::{CELL_FILE, Column, Grid, Row};
use super::{CellFile, hang_recheck};
use crate::output;

/// The outcome of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellOutcome {
    /// The check found nothing, and it sees losses.
    Pass,
    /// The system's profile excludes all that was found.
    ByDesign,
    /// A finding was replayed.
    Bug,
    /// The check found nothing, nor did it find a loss that certainly exists.
    Blind,
    /// The system does not offer what the check needs, or the machine lacks a requirement.
    NotSupported,
    /// The tool, a component or the machine failed.
    Broken,
    /// There was no time for it.
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

    /// Returns its word for people.
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

    /// Returns its key in JSON.
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

/// A cell of the matrix with its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    pub system: String,
    pub check: String,
    pub outcome: CellOutcome,
    /// The reason for an outcome by design, not supported, broken, blind or not run.
    pub why: Option<String>,
    /// The line of the profile that excludes all that the check asks for. `None` without such a
    /// line. A file without this key is of an earlier version, and its cell is run again.
    #[serde(deserialize_with = "Option::deserialize")]
    pub profile: Option<String>,
    /// The replayed findings, by design or not.
    pub findings: Vec<Finding>,
    /// The errors of the tool, a component or the machine.
    pub broken: Vec<String>,
    /// The counts of the run.
    pub summary: Option<Summary>,
    /// The signature of a loss on disks whose flushes were dropped. `None` if that was not tried,
    /// or no loss was found.
    pub sees: Option<String>,
    /// The duration of all runs.
    pub seconds: f64,
}

/// The most bytes of a cell file that are read.
const MOST_BYTES: u64 = 1 << 26;

/// Returns the path of a trace of the cell at `place`. An earlier process may have named the folder
/// by another path.
fn moved(trace: &str, place: &Path) -> String {
    // RUN/traces/<id>.json, in the folder of the cell.
    let parts: Vec<_> = Path::new(trace).components().rev().take(3).collect();
    let path = place.join(parts.iter().rev().collect::<PathBuf>());
    if path.is_file() { path.display().to_string() } else { trace.to_owned() }
}

impl Cell {
    /// Returns a cell with only an outcome and its reason.
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
            seconds: 0.0,
        }
    }

    /// Reads the cell of an earlier process. `None` if there is no cell, or it was not run.
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

    /// Returns true if no profile line is known that excludes what the check asks for. Otherwise
    /// `profile` has that line.
    pub fn is_promised(&self) -> bool {
        self.profile.is_none()
    }

    /// The bugs, without what is by design.
    pub fn bugs(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !finding.by_design)
    }
}

/// Runs the cell's check. If it finds nothing, runs it again on disks whose flushes are dropped.
/// `place` is the cell's folder.
///
/// # Errors
/// Errors of the file system, and of starting a process.
pub fn ask(
    registry: &Registry,
    grid: &Grid,
    row: &Row,
    column: &Column,
    place: &Path,
    limits: CellLimits<'_>,
) -> std::io::Result<Cell> {
    let begin = Instant::now();
    let mut cell = match CellFile::new(registry, grid, row, column) {
        Err(why) => Cell::without(row, column, CellOutcome::NotSupported, why),
        Ok(asked) => {
            // Removes the files of an interrupted process.
            if place.exists() {
                std::fs::remove_dir_all(place)?;
            }
            let once = |asked: &CellFile<'_>, name: &str, until| {
                std::fs::create_dir_all(place)?;
                let file = place.join(format!("{name}.toml"));
                durable_write(&file, asked.file().as_bytes())?;
                cell_run::run(&file, &place.join(name), CellLimits { until, ..limits })
            };
            let heard = once(&asked, "check", None)?;
            let heard = hang_recheck::sift(registry, row, heard, limits)?;
            let mut cell = judge(row, column, heard, limits.budget);
            if cell.outcome == CellOutcome::Pass {
                let control = match asked.without_flushes() {
                    None => None,
                    Some(asked) => {
                        let few = once(&asked.on_few_disks(), "no-flush", Some(&is_loss))?;
                        let all = has_seen_nothing(&few)
                            .then(|| once(&asked, "no-flush-all", Some(&is_loss)));
                        Some(all.transpose()?.unwrap_or(few))
                    }
                };
                see(&mut cell, control, limits.budget);
            }
            cell
        }
    };
    cell.seconds = begin.elapsed().as_secs_f64();
    std::fs::create_dir_all(place)?;
    cell.write(place)?;
    Ok(cell)
}

/// Returns the cell of a run, before it is known whether the check sees losses.
fn judge(row: &Row, column: &Column, heard: CellRun, budget: Duration) -> Cell {
    let CellRun { findings, broken, summary, code, said, hung, interrupted, replay: _ } = heard;
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
        None => last_line(&said),
    };
    let (outcome, why) = match code {
        _ if bug => (CellOutcome::Bug, None),
        _ if interrupted => (CellOutcome::NotRun, Some("interrupted".to_owned())),
        _ if hung => (
            CellOutcome::Broken,
            Some(format!("it did not end within its {budget:?}, and was killed")),
        ),
        // Some systems fail only when they are asked: HFS cannot fsync a directory.
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
                Some("recovery has written nothing that a crash could have cut".to_owned()),
            ),
            None if checked => (CellOutcome::Pass, None),
            None => (CellOutcome::NotRun, Some(format!("no disk was checked within {budget:?}"))),
        },
        _ => (CellOutcome::Broken, Some(first())),
    };
    // A refused run has broken nothing.
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

/// Returns the last line of a process's standard error, without the head of errors.
fn last_line(said: &str) -> String {
    let line = said.lines().last().unwrap_or("it said nothing");
    line.strip_prefix(output::ERROR).unwrap_or(line).to_owned()
}

/// Returns the profile lines that exclude these findings, each once.
pub fn excluded(findings: &[Finding]) -> Vec<String> {
    findings.iter().filter_map(|finding| finding.profile.clone()).sorted().dedup().collect()
}

/// Returns true if the finding proves that the check sees losses. A kernel that dies of a disk does
/// not, nor does a failed repair, nor a loss by design.
fn is_loss(finding: &Finding) -> bool {
    let is_loss =
        matches!(finding.verdict, Verdict::Lost | Verdict::Corrupt | Verdict::Resurrected);
    is_loss && !finding.by_design
}

/// Returns true if the run ended and found no loss.
fn has_seen_nothing(deaf: &CellRun) -> bool {
    let ended = deaf.summary.as_ref().is_some_and(|summary| summary.pending.is_zero());
    ended
        && !control.interrupted
        && !control.findings.iter().any(|finding| finding.replayed && is_loss(finding))
}

/// Sets the outcome by the run without flushes. `deaf` is `None` if the stack has no such disk.
fn see(cell: &mut Cell, deaf: Option<CellRun>, budget: Duration) {
    let Some(deaf) = deaf else {
        cell.outcome = CellOutcome::Blind;
        cell.why = Some("it stands on no disk whose flushes could be dropped".to_owned());
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
                    [] => format!("nothing is {on}, either"),
                    other => format!("nothing but {} is {on}", other.join(", ")),
                }),
            )
        }
        _ => {
            let said = control.broken.first().map_or(&control.said, |unable| &unable.message);
            (CellOutcome::Broken, Some(format!("on disks that do not flush: {said}")))
        }
    };
}

#[cfg(test)]
mod tests {
    use explode_runtime::base::{Options, TargetBounds};
    use explode_runtime::stack::StackSpec;

    use super::*;

    fn judged(broken: &[(BrokenKind, &str)]) -> Cell {
        let row =
            Row { name: "hfs".to_owned(), driver: String::new(), stack: StackSpec::default() };
        let column = Column {
            name: "fsync".to_owned(),
            about: String::new(),
            checker: "fs-ways".to_owned(),
            options: Options::none(),
            set: Vec::new(),
            bounds: TargetBounds { depth: 1, limit: 1, samples: 1, crash_depth: 0 },
            words: Vec::new(),
            doubts: Vec::new(),
            way: true,
        };
        let unable = |(kind, why): &(BrokenKind, &str)| {
            let message = (*why).to_owned();
            Unable { kind: *kind, message, profile: None }
        };
        let broken = broken.iter().map(unable).collect();
        let heard = CellRun { broken, code: Some(Exit::Broken as i32), ..CellRun::default() };
        judge(&row, &column, heard, Duration::from_secs(1))
    }

    #[test]
    fn an_inconclusive_cell_has_the_word_of_the_last_release_too() {
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
    fn what_turns_out_to_be_unsupported_is_not_broken() {
        let why = "way 'fsync' after creat /a: EINVAL: Invalid argument";
        let without = (BrokenKind::Unsupported, why);
        let cell = judged(&[without, without]);
        assert_eq!((cell.outcome, cell.why.as_deref()), (CellOutcome::NotSupported, Some(why)));
        // The kind decides, not the words.
        let failed = (BrokenKind::Component, "unsupported: mount failed");
        assert_eq!(judged(&[without, failed]).outcome, CellOutcome::Broken);
    }

    /// A loss by design proves nothing about promised data. A check that finds nothing else on
    /// disks that do not flush is blind.
    #[test]
    fn a_loss_by_design_is_no_eye() {
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
