//! Starting workers.

use crate::base::RunError;
use crate::dedup::SeenChecks;
use crate::verdict::WorkerDeath;
use crate::worker::{StartError, WorkerStarted, Workers};

/// The maximal number of keys in one message.
const KEYS: usize = 1 << 16;

/// Starts a worker that knows the merged checks. A worker that dies is started once more.
pub(super) fn start(
    workers: &mut dyn Workers,
    merged: &SeenChecks,
    keep_events: bool,
) -> Result<WorkerStarted, RunError> {
    let mut once = || -> Result<WorkerStarted, StartError> {
        let started = workers.start(keep_events)?;
        send_known(workers, merged).map_err(StartError::Died)?;
        Ok(started)
    };
    match once() {
        Err(StartError::Died(_)) => Ok(once()?),
        other => Ok(other?),
    }
}

/// Starts the first worker, which knows no merged checks. A worker that dies is started once more.
///
/// # Errors
/// The worker does not start.
pub fn first_start(workers: &mut dyn Workers) -> Result<WorkerStarted, RunError> {
    start(workers, &SeenChecks::default(), false)
}

/// Sends a worker the merged checks.
///
/// # Errors
/// The worker is gone.
pub(super) fn send_known(
    workers: &mut dyn Workers,
    merged: &SeenChecks,
) -> Result<(), WorkerDeath> {
    merged.parts(KEYS).try_for_each(|known| workers.learn(&known))
}
