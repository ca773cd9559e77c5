//! Going to where a trace fails: by its recorded disk, or by a search for the error.

use super::session::{DiskTry, PathFailure, PathResult, ProbeSession};
use crate::base::RunError;
use crate::choose::Choice;
use crate::crash::PieceId;
use crate::trace::Trace;
use crate::worker::probe::{CrashPoint, ProbeAnswers, ProbeGoal, StoppedAt};

/// Where a trace fails.
#[derive(Debug)]
pub enum Location {
    /// It fails like this.
    Fails(Box<LocatedFailure>),
    /// It does not; this is what was there.
    Not(String),
    /// The replay went another way.
    Diverged(String),
}

/// How a trace fails now.
#[derive(Debug)]
pub struct LocatedFailure {
    /// The choices, where, and what was seen.
    pub failing: PathFailure,
    /// The moment of the crash, if there was one.
    pub standing: Option<StoppedAt>,
    /// The log was another one than recorded, and a disk of the interval was found by a search
    /// (EX-60).
    pub by_search: bool,
}

impl CrashPoint {
    /// That of a trace; none without a crash.
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

    /// What each of its disks has kept.
    pub fn pieces(&self) -> Vec<Vec<PieceId>> {
        self.disks.iter().map(|disk| disk.blocks.clone()).collect()
    }
}

/// Goes to where the trace fails, and sees that it does.
///
/// # Errors
/// Those of [`ProbeSession::way`].
pub fn locate(session: &mut ProbeSession<'_, '_>, trace: &Trace) -> Result<Location, RunError> {
    let Some(spot) = CrashPoint::of(trace) else {
        let end = session.way(
            ProbeAnswers::Exactly(trace.choices.clone()),
            trace.mutates,
            ProbeGoal::Mutate,
        )?;
        return Ok(match end {
            PathResult::Fails(failing) => Location::Fails(Box::new(LocatedFailure {
                failing: *failing,
                standing: None,
                by_search: false,
            })),
            PathResult::Stands(_) => Location::Not("it stood still at a disk".to_owned()),
            PathResult::Not(why) => Location::Not(why),
            PathResult::Diverged(what) => Location::Diverged(what),
            PathResult::Broken(why) => return Err(why.into()),
        });
    };
    let mut why = "the recorded disk does not fail that way".to_owned();
    match session.way(
        ProbeAnswers::Exactly(trace.choices.clone()),
        trace.mutates,
        ProbeGoal::At(spot.clone()),
    )? {
        PathResult::Stands(standing) => {
            if let DiskTry::Same(_, violation) = session.attempt(&spot.pieces())? {
                return Ok(Location::Fails(Box::new(failure(*standing, violation, false))));
            }
            if standing.spot.log == spot.log {
                return Ok(Location::Not(why));
            }
        }
        PathResult::Diverged(what) => return Ok(Location::Diverged(what)),
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

/// What a search has found.
pub enum SearchResult {
    /// The error.
    Fails(Box<LocatedFailure>),
    /// This instead.
    Not(String),
}

/// Runs a way, and looks for the error in its last mutate; then stands there, if there is a disk to
/// stand at.
///
/// # Errors
/// Those of [`ProbeSession::way`].
pub fn look(
    session: &mut ProbeSession<'_, '_>,
    answers: ProbeAnswers,
    mutates: u32,
    first: Vec<PieceId>,
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
    match session.way(answers, mutates, until)? {
        PathResult::Stands(standing) => match session.attempt(&standing.spot.pieces())? {
            DiskTry::Same(_, violation) => {
                Ok(SearchResult::Fails(Box::new(failure(*standing, violation, false))))
            }
            _ => {
                Ok(SearchResult::Not("the disk that failed that way does not any more".to_owned()))
            }
        },
        PathResult::Fails(failing) => {
            let standing = stand(session, &failing)?;
            Ok(SearchResult::Fails(Box::new(LocatedFailure {
                failing: *failing,
                standing,
                by_search: false,
            })))
        }
        PathResult::Not(why) | PathResult::Diverged(why) => Ok(SearchResult::Not(why)),
        PathResult::Broken(why) => Ok(SearchResult::Not(why.to_string())),
    }
}

/// Stands at the disk of which a worker has died.
fn stand(
    session: &mut ProbeSession<'_, '_>,
    failing: &PathFailure,
) -> Result<Option<StoppedAt>, RunError> {
    let Some(spot) = &failing.spot else { return Ok(None) };
    let choices: Vec<Choice> = failing.choices.concat();
    Ok(session.stop_at(&choices, spot)?.map(|standing| *standing))
}

fn failure(
    standing: StoppedAt,
    violation: crate::verdict::Violation,
    by_search: bool,
) -> LocatedFailure {
    let failing = PathFailure {
        choices: standing.choices.clone(),
        failed: standing.failed.clone(),
        spot: Some(standing.spot.clone()),
        violation,
        promise: None,
    };
    LocatedFailure { failing, standing: Some(standing), by_search }
}
