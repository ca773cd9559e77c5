//! Minimises traces: fewer mutates, simpler choices, fewer lost or kept pieces, and the same error
//! (`docs/guide/explain-a-finding.md`).
//!
//! A smaller candidate counts only after it was run. No path and no disk is run twice. The same
//! trace and the same bound on tests give the same result.

mod ddmin;
mod paths;
mod pieces;

pub use ddmin::ddmin;

use crate::base::RunError;
use crate::explain::{
    LocatedFailure, Location, ProbeSession, SearchBounds, differences, diverged, locate,
};
use crate::trace::Trace;
use crate::worker::RemoteWorkers;
use crate::worker::probe::StoppedAt;

/// The result of minimising a trace.
#[derive(Debug)]
pub enum MinimiseResult {
    /// A trace that is no larger and fails in the same way.
    Smaller(Box<MinimisedTrace>),
    /// The trace does not fail, for this reason.
    NotReproduced(String),
    /// The checked system is not deterministic. The text has the observation, the first difference
    /// of two runs, and the usual causes, a line each.
    Diverged(String),
}

/// A minimised trace.
#[derive(Clone, Debug)]
pub struct MinimisedTrace {
    /// The minimised trace.
    pub trace: Trace,
    /// The size of the original trace and of the minimised one.
    pub sizes: [TraceSize; 2],
    /// The number of paths run and disks checked.
    pub tests: u64,
    /// The number of questions that were answered from memory.
    pub remembered: u64,
    /// True if a bound ended the search, so that a smaller trace may exist.
    pub cut: bool,
    /// The duration in seconds.
    pub seconds: f64,
}

/// The size of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSize {
    /// The number of calls of mutate.
    pub mutates: u64,
    /// The number of choices.
    pub choices: u64,
    /// The number of pieces that the crash disks have kept.
    pub kept: u64,
    /// The number of ranges whose newest version the crash disks have lost.
    pub lost: u64,
    /// The number of ranges with pending pieces.
    pub pending: u64,
}

/// Minimises a trace within the bounds, with workers for its plan.
///
/// # Errors
/// A worker cannot be started, or the tool or a component is broken.
pub fn minimise(
    remote: &mut RemoteWorkers<'_>,
    trace: &Trace,
    bounds: SearchBounds,
) -> Result<MinimiseResult, RunError> {
    let text = match try_to(remote, trace, bounds) {
        Ok(MinimiseResult::Diverged(text)) | Err(RunError::Diverged(text)) => text,
        other => return other,
    };
    Ok(MinimiseResult::Diverged(diverged(&text, &differences(remote, trace)?)))
}

/// Minimises a trace, provided that the same choices lead to the same disks.
fn try_to(
    remote: &mut RemoteWorkers<'_>,
    trace: &Trace,
    bounds: SearchBounds,
) -> Result<MinimiseResult, RunError> {
    let mut session = ProbeSession::new(remote, trace, bounds);
    let failure = match locate(&mut session, trace)? {
        Location::Fails(failure) => *failure,
        Location::Not(why) => return Ok(MinimiseResult::NotReproduced(why)),
        Location::Diverged(divergence) => return Ok(MinimiseResult::Diverged(divergence)),
    };
    let before = size(&failure);
    let mut failure = paths::shrink(&mut session, failure)?;
    if let Some(stopped) = failure.stopped.take() {
        // The worker has run other paths since.
        let choices = stopped.choices.concat();
        let again = session.stop_at(&choices, &stopped.spot)?;
        let gone = || {
            RunError::Diverged(
                "the same choices did not lead to the disk that failed again".to_owned(),
            )
        };
        let stopped = *again.ok_or_else(gone)?;
        let stopped = pieces::shrink(&mut session, stopped)?;
        failure = settle(&mut session, failure, stopped)?;
    }
    let sizes = [before, size(&failure)];
    let trace = smaller(&session, trace, &failure);
    let ProbeSession { tests, remembered, cut, .. } = session;
    let seconds = session.elapsed().as_millis() as f64 / 1000.0;
    Ok(MinimiseResult::Smaller(Box::new(MinimisedTrace {
        trace,
        sizes,
        tests,
        remembered,
        cut,
        seconds,
    })))
}

/// Returns the failure for the place where the worker is now.
fn settle(
    session: &mut ProbeSession<'_, '_>,
    failure: LocatedFailure,
    stopped: StoppedAt,
) -> Result<LocatedFailure, RunError> {
    let mut failing = failure.failing;
    if let crate::explain::DiskTry::Same(_, violation) = session.attempt(&stopped.spot.pieces())? {
        failing.violation = violation;
    }
    failing.spot = Some(stopped.spot.clone());
    Ok(LocatedFailure { failing, stopped: Some(stopped), ..failure })
}

fn size(failure: &LocatedFailure) -> TraceSize {
    let choices = &failure.failing.choices;
    let moments = failure.stopped.iter().flat_map(|stopped| &stopped.moments);
    let size = TraceSize {
        mutates: choices.len() as u64,
        choices: choices.iter().map(|mutate| mutate.len() as u64).sum(),
        ..TraceSize::default()
    };
    moments.map(pieces::count).fold(size, |size, (kept, lost, pending)| TraceSize {
        kept: size.kept + kept,
        lost: size.lost + lost,
        pending: size.pending + pending,
        ..size
    })
}

/// Returns the trace of a failure. Fields that the failure does not determine are copied from the
/// old trace.
fn smaller(session: &ProbeSession<'_, '_>, old: &Trace, failure: &LocatedFailure) -> Trace {
    let mut trace = old.clone();
    // The tag belongs to the old contents.
    trace.tag = None;
    env!("CARGO_PKG_VERSION").clone_into(&mut trace.explode);
    if let Some(started) = session.started() {
        trace.versions.clone_from(&started.origin.versions);
        trace.pristine.clone_from(&started.origin.pristine);
        trace.stack.clone_from(&started.origin.stack);
        trace.checker_defaults.clone_from(&started.origin.checker_defaults);
    }
    let failing = &failure.failing;
    trace.choices = failing.choices.concat();
    trace.mutates =
        u32::try_from(failing.choices.len()).expect("no more mutates than the trace had");
    trace.message.clone_from(&failing.violation.message);
    if let Some(spot) = &failing.spot {
        let mut disks = spot.disks.iter().cloned();
        trace.interval = spot.interval;
        trace.epoch = Some(spot.epoch);
        trace.args.clone_from(&spot.args);
        trace.log.clone_from(&spot.log);
        trace.crash_disk = disks.next();
        trace.recovery = disks.collect();
    }
    trace
}
