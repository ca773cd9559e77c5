//! Starting workers.

use crate::base::RunError;
use crate::dedup::Checks;
use crate::verdict::Death;
use crate::worker::{Crew, StartError, Started};

/// So many keys go into one message.
const KEYS: usize = 1 << 16;

/// Starts a worker that knows which checks are merged; one that dies may try once more.
pub(super) fn start(
    crew: &mut dyn Crew,
    merged: &Checks,
    keep_events: bool,
) -> Result<Started, RunError> {
    let mut once = || -> Result<Started, StartError> {
        let started = crew.start(keep_events)?;
        tell(crew, merged).map_err(StartError::Died)?;
        Ok(started)
    };
    match once() {
        Err(StartError::Died(_)) => Ok(once()?),
        other => Ok(other?),
    }
}

/// Starts a crew's first worker, which knows of no merged checks; one that dies is started once
/// more.
///
/// # Errors
/// It does not start.
pub fn first_start(crew: &mut dyn Crew) -> Result<Started, RunError> {
    start(crew, &Checks::default(), false)
}

/// Tells a worker which checks are merged.
///
/// # Errors
/// It is gone.
pub(super) fn tell(crew: &mut dyn Crew, merged: &Checks) -> Result<(), Death> {
    merged.parts(KEYS).try_for_each(|known| crew.know(&known))
}
