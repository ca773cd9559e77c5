//! Starting workers.

use tracing::debug;

use crate::base::RunError;
use crate::dedup::SeenChecks;
use crate::verdict::WorkerDeath;
use crate::worker::{StartError, WorkerStarted, Workers};

/// The maximal number of keys in one message.
const KEYS: usize = 1 << 16;

/// The number of workers that are tried for the first start of a stack.
pub(super) const FIRST: u32 = 2;
/// The number of workers that are tried once a worker of the run has started the stack. Then it is
/// known to start, so the deaths of workers have other causes.
pub(super) const LATER: u32 = 10;

/// Starts a worker that knows the merged checks. In place of one that dies the next is started,
/// until `most` were tried.
pub(super) fn start(
    most: u32,
    workers: &mut dyn Workers,
    merged: &SeenChecks,
    keep_events: bool,
) -> Result<WorkerStarted, RunError> {
    let mut once = || -> Result<WorkerStarted, StartError> {
        let started = workers.start(keep_events)?;
        send_known(workers, merged).map_err(StartError::Died)?;
        Ok(started)
    };
    for _ in 1..most {
        match once() {
            Err(StartError::Died(death)) => debug!("{death}"),
            other => return Ok(other?),
        }
    }
    Ok(once()?)
}

/// Starts the first worker, which knows no merged checks. A worker that dies is started once more.
///
/// # Errors
/// The worker does not start.
pub fn first_start(workers: &mut dyn Workers) -> Result<WorkerStarted, RunError> {
    start(FIRST, workers, &SeenChecks::default(), false)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::KnownChecks;
    use crate::verdict::WorkerStep;
    use crate::worker::{UnitListener, UnitOrder, UnitResult};

    /// Workers of which the first `dying` die before their stack has started.
    struct Dying {
        dying: u32,
        started: u32,
    }

    impl Workers for Dying {
        fn start(&mut self, _keep_events: bool) -> Result<WorkerStarted, StartError> {
            self.started += 1;
            if self.started > self.dying {
                return Ok(WorkerStarted::default());
            }
            Err(StartError::Died(WorkerDeath {
                step: WorkerStep::FirstStart,
                verdict: None,
                message: "the process was ended by SIGKILL".to_owned(),
                killed_externally: false,
            }))
        }

        fn learn(&mut self, _known: &KnownChecks) -> Result<(), WorkerDeath> {
            Ok(())
        }

        fn run(
            &mut self,
            _order: &UnitOrder,
            _listener: &mut dyn UnitListener,
        ) -> Result<UnitResult, WorkerDeath> {
            unreachable!("no unit is run")
        }
    }

    #[test]
    fn more_workers_may_die_once_one_has_started() {
        let merged = SeenChecks::default();
        for (dying, first, later) in [
            (0, true, true),
            (1, true, true),
            (2, false, true),
            (9, false, true),
            (10, false, false),
        ] {
            let mut workers = Dying { dying, started: 0 };
            assert_eq!(start(FIRST, &mut workers, &merged, false).is_ok(), first, "{dying}");
            let mut workers = Dying { dying, started: 0 };
            assert_eq!(start(LATER, &mut workers, &merged, false).is_ok(), later, "{dying}");
            assert_eq!(workers.started, (dying + 1).min(LATER));
        }
    }
}
