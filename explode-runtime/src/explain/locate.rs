//! Finds the place where a trace fails: its recorded disk, or a disk found by a search.

use super::session::{DiskTry, PathFailure, PathResult, ProbeSession};
use crate::base::RunError;
use crate::choose::Choice;
use crate::crash::PieceName;
use crate::events::ToldStory;
use crate::trace::Trace;
use crate::worker::probe::{CrashPoint, ProbeAnswers, ProbeGoal, StoppedAt};

/// The place where a trace fails.
#[derive(Debug)]
pub enum Location {
    /// The trace fails as described.
    Fails(Box<LocatedFailure>),
    /// The trace does not fail, for this reason.
    Not(String),
    /// The replay diverged.
    Diverged(String),
}

/// The present failure of a trace.
#[derive(Debug)]
pub struct LocatedFailure {
    /// The choices, the place and the violation.
    pub failing: PathFailure,
    /// The moment of the crash. `None` without a crash.
    pub stopped: Option<StoppedAt>,
    /// True if the log differs from the recorded one and the disk was found by a search of the
    /// interval (EX-60).
    pub by_search: bool,
}

impl CrashPoint {
    /// Returns the crash point of a trace. `None` without a crash.
    pub fn of(trace: &Trace) -> Option<CrashPoint> {
        let crash_disk = trace.crash_disk.clone()?;
        Some(CrashPoint {
            mutates: trace.mutates,
            interval: trace.interval,
            epoch: trace.epoch?,
            args: trace.args.clone(),
            log: trace.log.clone(),
            disks: [crash_disk].into_iter().chain(trace.recovery.iter().cloned()).collect(),
        })
    }

    /// Returns the pieces that each disk has kept.
    pub fn pieces(&self) -> Vec<Vec<PieceName>> {
        self.disks.iter().map(|disk| disk.blocks.clone()).collect()
    }
}

/// Runs the trace to the place where it fails and verifies the failure.
///
/// # Errors
/// Those of [`ProbeSession::run_path`].
pub fn locate(session: &mut ProbeSession<'_, '_>, trace: &Trace) -> Result<Location, RunError> {
    let Some(spot) = CrashPoint::of(trace) else {
        let end = session.run_path(
            ProbeAnswers::Exactly(trace.choices.clone()),
            trace.mutates,
            ProbeGoal::Mutate,
        )?;
        return Ok(match end {
            PathResult::Fails(failing) => Location::Fails(Box::new(LocatedFailure {
                failing: *failing,
                stopped: None,
                by_search: false,
            })),
            PathResult::Stopped(_) => Location::Not("it was stopped at a disk".to_owned()),
            PathResult::Not(why) => Location::Not(why),
            PathResult::Diverged(divergence) => Location::Diverged(divergence),
            PathResult::Broken(why) => return Err(why.into()),
        });
    };
    let mut why = "the recorded disk does not fail that way".to_owned();
    match session.run_path(
        ProbeAnswers::Exactly(trace.choices.clone()),
        trace.mutates,
        ProbeGoal::At(spot.clone()),
    )? {
        PathResult::Stopped(stopped) => {
            if let DiskTry::Same(_, violation) = session.attempt(&spot.pieces())? {
                return Ok(Location::Fails(Box::new(failure(*stopped, violation, false))));
            }
            if stopped.spot.log == spot.log {
                return Ok(Location::Not(why));
            }
        }
        PathResult::Diverged(divergence) => return Ok(Location::Diverged(divergence)),
        PathResult::Broken(why) => return Err(why.into()),
        PathResult::Not(not) => why = not,
        PathResult::Fails(_) => {}
    }
    let first = spot.disks[0].blocks.clone();
    let until = session.failing_elsewhere(first);
    match look_until(session, ProbeAnswers::Exactly(trace.choices.clone()), trace.mutates, until)? {
        SearchResult::Fails(failure) => {
            Ok(Location::Fails(Box::new(LocatedFailure { by_search: true, ..*failure })))
        }
        SearchResult::Not(not) => Ok(Location::Not(format!("{why}; {not}"))),
    }
}

/// The result of a search.
pub enum SearchResult {
    /// The error was found.
    Fails(Box<LocatedFailure>),
    /// The error was not found, for this reason.
    Not(String),
}

/// Runs a path and searches its last mutate for the error. Then the worker stops at the failing
/// disk, if there is one.
///
/// # Errors
/// Those of [`ProbeSession::run_path`].
pub fn look(
    session: &mut ProbeSession<'_, '_>,
    answers: ProbeAnswers,
    mutates: u32,
    first: Vec<PieceName>,
) -> Result<SearchResult, RunError> {
    let until = session.failing(first);
    look_until(session, answers, mutates, until)
}

fn look_until(
    session: &mut ProbeSession<'_, '_>,
    answers: ProbeAnswers,
    mutates: u32,
    until: ProbeGoal,
) -> Result<SearchResult, RunError> {
    match session.run_path(answers, mutates, until)? {
        PathResult::Stopped(stopped) => match session.attempt(&stopped.spot.pieces())? {
            DiskTry::Same(_, violation) => {
                Ok(SearchResult::Fails(Box::new(failure(*stopped, violation, false))))
            }
            _ => {
                Ok(SearchResult::Not("the disk that failed that way does not any more".to_owned()))
            }
        },
        PathResult::Fails(failing) => {
            let stopped = stop_at_disk(session, &failing)?;
            Ok(SearchResult::Fails(Box::new(LocatedFailure {
                failing: *failing,
                stopped,
                by_search: false,
            })))
        }
        PathResult::Not(why) | PathResult::Diverged(why) => Ok(SearchResult::Not(why)),
        PathResult::Broken(why) => Ok(SearchResult::Not(why.to_string())),
    }
}

/// Stops at the disk that killed a worker.
fn stop_at_disk(
    session: &mut ProbeSession<'_, '_>,
    failing: &PathFailure,
) -> Result<Option<StoppedAt>, RunError> {
    let Some(spot) = &failing.spot else { return Ok(None) };
    let choices: Vec<Choice> = failing.choices.concat();
    Ok(session.stop_at(&choices, spot)?.map(|stopped| *stopped))
}

fn failure(
    stopped: StoppedAt,
    violation: crate::verdict::Violation,
    by_search: bool,
) -> LocatedFailure {
    let failing = PathFailure {
        choices: stopped.choices.clone(),
        failed: stopped.failed.clone(),
        spot: Some(stopped.spot.clone()),
        violation,
        promise: None,
        told: ToldStory::default(),
    };
    LocatedFailure { failing, stopped: Some(stopped), by_search }
}
