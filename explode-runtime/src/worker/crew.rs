//! The workers of a run, as the supervisor sees them.

use super::listener::{Listener, Started};
use super::order::Order;
use super::unit_result::UnitResult;
use crate::base::RunError;
use crate::dedup::Known;
use crate::verdict::{BrokenKind, Death, Step, Verdict};

/// Starts workers and hands units to them. At most one runs at a time.
pub trait Crew {
    /// Starts a worker in place of the one before. It knows no checks yet.
    ///
    /// # Errors
    /// [`StartError`].
    fn start(&mut self, keep_events: bool) -> Result<Started, StartError>;

    /// Sends the worker the checks that are merged.
    ///
    /// # Errors
    /// The worker is gone.
    fn know(&mut self, known: &Known) -> Result<(), Death>;

    /// Lets the worker run a unit.
    ///
    /// # Errors
    /// The worker is gone.
    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitResult, Death>;

    /// Stops the worker if only one can run at a time, so that another one can replay. Returns true
    /// if the worker must be started again.
    fn rest(&mut self) -> bool {
        false
    }
}

/// Why a worker could not be started.
#[derive(Debug)]
pub enum StartError {
    /// The worker reported why.
    Said(RunError),
    /// The worker died.
    Died(Death),
}

impl From<StartError> for RunError {
    fn from(error: StartError) -> RunError {
        match error {
            StartError::Said(error) => error,
            StartError::Died(Death { step: Step::FirstStart, message, verdict, .. }) => {
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
