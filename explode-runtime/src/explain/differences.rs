//! The first differences between two runs of the same choices, for a system that is not
//! deterministic.

use super::session::{ProbeSession, SearchBounds};
use crate::base::RunError;
use crate::judge::{END_MARK, NOW_MARK};
use crate::trace::Trace;
use crate::worker::RemoteWorkers;

/// The usual causes of a different path in a second run.
pub const CAUSES: &str = "the clock, random numbers, the order of a hash map, threads, or \
                          something outside of the disks that stays from \
                          one run to the next (a static, a file elsewhere)";

/// Runs the choices of a trace up to three times and returns the first differences, one line each:
/// between the choices and the recorded ones, and between two event logs. Empty without a
/// difference, or if the trace kills its worker.
///
/// # Errors
/// A worker cannot be started.
pub fn differences(remote: &mut RemoteWorkers<'_>, trace: &Trace) -> Result<Vec<String>, RunError> {
    if trace.died.is_some() {
        return Ok(Vec::new());
    }
    let mut session =
        ProbeSession::new(remote, trace, SearchBounds { budget: None, tests: u64::MAX });
    let (other_choice, first) = session.logged(trace, true)?;
    let mut found: Vec<String> = other_choice.into_iter().collect();
    // State in memory that survives a run shows in the same worker. Values drawn at a start show in
    // a new one.
    for anew in [false, true] {
        let (other_choice, second) = session.logged(trace, anew)?;
        if found.is_empty() {
            found.extend(other_choice);
        }
        if let Some(difference) = difference(&first, &second) {
            found.push(difference);
            break;
        }
    }
    Ok(found)
}

/// Returns the report on a diverged run: the observation, the first differences, and their usual
/// causes.
pub fn diverged(text: &str, differences: &[String]) -> String {
    let none = ["two further runs of the same choices wrote the same events: the difference is \
                 in the recovery or in the check, or outside of the runs"
        .to_owned()];
    let differences = if differences.is_empty() { &none[..] } else { differences };
    let lines = differences.iter().map(|difference| format!("first difference: {difference}"));
    let lines =
        [text.to_owned()].into_iter().chain(lines).chain([format!("usual causes: {CAUSES}")]);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the first difference of two event logs.
fn difference(first: &[String], second: &[String]) -> Option<String> {
    let longer = first.len().max(second.len());
    let at = (0..longer).find(|at| first.get(*at) != second.get(*at))?;
    let is_request =
        |line: &&String| [END_MARK, NOW_MARK].iter().any(|mark| **line == format!("mark {mark}"));
    let requests = first.iter().take(at).filter(is_request).count();
    let event_of =
        |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "nothing more".to_owned());
    Some(format!(
        "event {at} of the log, before request {} for crash checks: {}; in another run of the \
         same choices: {}",
        requests + 1,
        event_of(first),
        event_of(second)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_has_its_place_and_both_sides() {
        let log = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let one = log(&["dirty a", "mark crash checks now", "dirty b"]);
        assert_eq!(difference(&one, &one), None);
        let other = log(&["dirty a", "mark crash checks now", "dirty c"]);
        assert_eq!(
            difference(&one, &other).unwrap(),
            "event 2 of the log, before request 2 for crash checks: dirty b; in another run of \
             the same choices: dirty c"
        );
        assert!(
            difference(&one, &one[..2])
                .unwrap()
                .ends_with("dirty b; in another run of the same choices: nothing more")
        );
    }
}
