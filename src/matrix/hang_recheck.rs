//! Distinguishes hangs from slow steps. A run ends a step after its deadline and reports `hang`.
//! The matrix replays each such finding with ten times the deadline. If the step then ends, it does
//! not count as a bug.

use std::path::Path;

use explode_runtime::base::UsageError;
use explode_runtime::plan::Registry;
use explode_runtime::report::Finding;
use explode_runtime::stack::{AsShell, ShellLayer};
use explode_runtime::trace::{NotReproduced, Trace};
use explode_runtime::verdict::{BrokenKind, StepName, Verdict};

use super::cell_run::{self, CellLimits, CellRun, Unable};
use super::row::Row;
use crate::output;

/// The factor of the deadline in the second try.
const LONGER: u32 = 10;

/// Replays the hangs of a run with a longer deadline. A hang that is reproduced stays a finding,
/// and its message mentions the second try. The others become the first entries of `broken`.
///
/// # Errors
/// Errors of the file system, and of starting a process.
pub fn sift(
    registry: &Registry,
    row: &Row,
    mut run: CellRun,
    limits: CellLimits<'_>,
) -> std::io::Result<CellRun> {
    let is_hang = |finding: &Finding| finding.replayed && finding.verdict == Verdict::Hang;
    let (hangs, findings) =
        std::mem::take(&mut run.findings).into_iter().partition::<Vec<_>, _>(is_hang);
    run.findings = findings;
    let longer = limits.deadline.saturating_mul(LONGER);
    let long = longer.as_secs_f64();
    let mut slow = Vec::new();
    for mut finding in hangs {
        let path = Path::new(&finding.trace);
        let died = Trace::read(path).ok().and_then(|trace| trace.died);
        // The run's message stays in front. It may be the guest's kernel that ended the step,
        // before the deadline.
        finding.message += &programs(registry, row, died);
        let text = &finding.message;
        let again = if run.interrupted {
            CellRun::default()
        } else {
            cell_run::replay(
                path,
                CellLimits { budget: longer, deadline: longer, until: None, ..limits },
            )?
        };
        run.interrupted |= again.interrupted;
        match again.replay {
            Some(replay) if replay.reproduced => {
                finding.message =
                    format!("{text}; tried again with a deadline of {long} s: {}", replay.message);
                run.findings.push(finding);
            }
            Some(replay) if replay.reason == Some(NotReproduced::StepFinished) => slow.push(format!(
                "slow: {text}; tried again with a deadline of {long} s it ended, so it is no bug; \
                 run the matrix with --deadline {long}s"
            )),
            replay => {
                let why = replay.map_or(again.stderr, |replay| replay.message);
                slow.push(format!(
                    "{text}; tried again with a deadline of {long} s it neither hung nor ended, so \
                     it may hang or be slow: {}; see {}",
                    why.lines().last().unwrap_or("it was ended"),
                    output::paste().command(&format!("replay --deadline {long}s"), &finding.trace),
                ));
            }
        }
    }
    let slow = slow.into_iter().map(|message| Unable {
        kind: BrokenKind::NotReproduced,
        message,
        profile: None,
    });
    run.broken.splice(0..0, slow);
    Ok(run)
}

/// Returns the programs that a recovery runs, as words to append to its message. Empty for other
/// steps.
fn programs(registry: &Registry, row: &Row, died: Option<StepName>) -> String {
    let programs =
        if died == Some(StepName::Recover) { repairs(registry, row) } else { Ok(Vec::new()) };
    match &programs.unwrap_or_default()[..] {
        [] => String::new(),
        programs => format!(" (it runs {})", programs.join(", ")),
    }
}

/// Returns the programs that recover a system, with their arguments, bottom first.
fn repairs(registry: &Registry, row: &Row) -> Result<Vec<String>, UsageError> {
    let mut programs = Vec::new();
    for layer in &row.stack.0 {
        if layer.has_commands() {
            programs.push(layer.options.text("recover", "")?);
            continue;
        }
        let component = (registry.component(&layer.component)?.build)(&layer.options)?;
        if let Some(ShellLayer::FileSystem(plain)) =
            component.abilities().as_shell.map(AsShell::as_shell)
        {
            programs.extend(plain.repair.map(|(line, _)| line));
            programs.extend(plain.strict.map(|(command, _)| command));
        }
    }
    programs.retain(|line| !line.trim().is_empty());
    Ok(programs.into_iter().map(|line| line.trim().to_owned()).collect())
}
