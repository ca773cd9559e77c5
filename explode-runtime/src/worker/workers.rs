//! The supervisor's interface to the workers of a run.

use super::listener::{UnitListener, WorkerStarted};
use super::order::UnitOrder;
use super::unit_result::UnitResult;
use crate::base::RunError;
use crate::dedup::KnownChecks;
use crate::verdict::{BrokenKind, Verdict, WorkerDeath, WorkerStep};

/// Starts workers and hands units to them. At most one runs at a time.
pub trait Workers {
    /// Starts a worker in place of the previous one. The new worker knows no merged checks. With
    /// `keep_events` each result of a unit has its events.
    ///
    /// # Errors
    /// [`StartError`].
    fn start(&mut self, keep_events: bool) -> Result<WorkerStarted, StartError>;

    /// Sends the worker checks that are merged.
    ///
    /// # Errors
    /// The worker is gone.
    fn learn(&mut self, known: &KnownChecks) -> Result<(), WorkerDeath>;

    /// Runs a unit in the worker. `listener` receives its progress.
    ///
    /// # Errors
    /// The worker is gone.
    fn run(
        &mut self,
        order: &UnitOrder,
        listener: &mut dyn UnitListener,
    ) -> Result<UnitResult, WorkerDeath>;

    /// Stops the worker if only one can run at a time, so that another one can replay. Returns true
    /// if the worker must be started again.
    fn yield_machine(&mut self) -> bool {
        false
    }
}

/// The reason why a worker could not be started.
#[derive(Debug)]
pub enum StartError {
    /// The worker, or the program that starts it, reported an error.
    Refused(RunError),
    /// The worker died.
    Died(WorkerDeath),
}

impl From<StartError> for RunError {
    fn from(error: StartError) -> RunError {
        match error {
            StartError::Refused(error) => error,
            StartError::Died(WorkerDeath {
                step: WorkerStep::FirstStart,
                message,
                verdict,
                ..
            }) => {
                let next = if verdict == Some(Verdict::Hang) {
                    "; --deadline gives it longer"
                } else {
                    ""
                };
                let why = format!(
                    "the first start of the stack (init, mount, unmount) has ended each worker \
                     that tried: {message}{next}"
                );
                BrokenKind::Worker.of(why).into()
            }
            StartError::Died(death) => {
                let why = format!("a worker could not be started: {}", death.message);
                BrokenKind::Worker.of(why).into()
            }
        }
    }
}
