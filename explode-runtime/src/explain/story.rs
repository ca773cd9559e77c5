//! The story of a trace: its operations, the pieces that the crash kept and lost, the broken
//! promise, and the result of a replay.

use std::collections::BTreeMap;

use super::critical::{CriticalSearch, search};
use super::locate::{LocatedFailure, Location, locate};
use super::session::{ProbeSession, SearchBounds};
use crate::base::RunError;
use crate::choose::Choice;
use crate::devices::IMAGE;
use crate::events::{FailedCommand, ToldStory};
use crate::trace::Trace;
use crate::verdict::Violation;
use crate::worker::RemoteWorkers;
use crate::worker::probe::{CitedPromise, StoppedAt};

/// The contents of a story.
#[derive(Clone, Debug)]
pub struct Story {
    /// The trace.
    pub trace: Trace,
    /// The results of running the trace again, or the reason why that failed.
    pub retold: Result<StoryRun, String>,
}

/// The part of a story that needs a replay of the trace.
#[derive(Clone, Debug)]
pub struct StoryRun {
    /// The choices, mutate by mutate.
    pub choices: Vec<Vec<Choice>>,
    /// The steps of the checker's own commands that have failed.
    pub failed: Vec<FailedCommand>,
    /// The violation in the replay.
    pub violation: Violation,
    /// True if it occurred at another disk than the recorded one, found by a search.
    pub by_search: bool,
    /// The moment of the crash. `None` without a crash.
    pub stopped: Option<StoppedAt>,
    /// The profile's line about the broken promise. `None` without such a line.
    pub promise: Option<CitedPromise>,
    /// The critical write. `None` without a crash.
    pub critical: Option<CriticalSearch>,
    /// The system's own story. Empty if it has none.
    pub told: ToldStory,
    /// The versions that differ from the recorded ones: name, recorded version, present version.
    pub other_versions: Vec<(String, String, String)>,
}

impl Story {
    /// Returns the story from the file alone. `why` is the reason why the trace was not run.
    pub fn of_file(trace: Trace, why: String) -> Story {
        Story { trace, retold: Err(why) }
    }
}

/// One question about the critical write may take this fraction of all tests.
const QUESTION: u64 = 8;

/// Replays a trace and returns its story. The bounds limit the search for the critical write.
///
/// # Errors
/// A worker cannot be started, or the tool or a component is broken.
pub fn story(
    remote: &mut RemoteWorkers<'_>,
    trace: &Trace,
    bounds: SearchBounds,
) -> Result<Story, RunError> {
    let mut session = ProbeSession::new(remote, trace, bounds).noting();
    let failure = match locate(&mut session, trace)? {
        Location::Fails(failure) => *failure,
        Location::Not(why) => {
            return Ok(Story::of_file(trace.clone(), format!("it was not seen again: {why}")));
        }
        Location::Diverged(divergence) => {
            return Ok(Story::of_file(trace.clone(), format!("its replay diverged: {divergence}")));
        }
    };
    let now = session.started().map(|started| started.origin.versions.clone()).unwrap_or_default();
    let other_versions = differences(&trace.versions, &now);
    let LocatedFailure { failing, stopped, by_search } = failure;
    let critical = match &stopped {
        None => None,
        Some(_) if trace.died.is_some() => Some(CriticalSearch::NotMade(
            "each disk that fails would end another worker".to_owned(),
        )),
        Some(stopped) => match search(&mut session, stopped, (bounds.tests / QUESTION).max(16)) {
            Err(RunError::Diverged(divergence)) => Some(CriticalSearch::NotMade(format!(
                "{divergence}: the system is not deterministic"
            ))),
            found => Some(found?),
        },
    };
    let promise = session.leave().or(failing.promise);
    let retold = StoryRun {
        choices: failing.choices,
        failed: stopped.as_ref().map_or(failing.failed, |stopped| stopped.failed.clone()),
        violation: failing.violation,
        by_search,
        stopped,
        promise,
        critical,
        told: failing.told,
        other_versions,
    };
    Ok(Story { trace: trace.clone(), retold: Ok(retold) })
}

/// Returns the versions that differ: name, recorded version, present version. The image is omitted
/// because it has many more packages than the stack uses. The packages in use are compared
/// individually.
fn differences(
    recorded: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<(String, String, String)> {
    let differs = |(name, version): (&String, &String)| {
        let now = now.get(name).filter(|now| *now != version && name != IMAGE)?;
        Some((name.clone(), version.clone(), now.clone()))
    };
    recorded.iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_packages_are_reported_and_the_image_is_not() {
        let versions = |tools: &str, image: &str| {
            let all = [("e2fsprogs", tools), ("image", image), ("linux", "6.12")];
            all.map(|(name, version)| (name.to_owned(), version.to_owned())).into()
        };
        assert!(differences(&versions("1.47", "a"), &versions("1.47", "b")).is_empty());
        let [name, then, now] = ["e2fsprogs", "1.47", "1.48"].map(str::to_owned);
        assert_eq!(differences(&versions(&then, "a"), &versions(&now, "b")), [(name, then, now)]);
        // An older trace has fewer versions.
        assert!(differences(&BTreeMap::new(), &versions("1.47", "a")).is_empty());
    }
}
