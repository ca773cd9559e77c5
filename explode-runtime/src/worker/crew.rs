//! Where workers come from, as the supervisor sees it.

use super::listener::{Listener, Started};
use super::order::Order;
use super::unit_result::UnitResult;
use crate::base::RunError;
use crate::dedup::Known;
use crate::verdict::{BrokenKind, Death, Step, Verdict};

/// Where workers come from. There is one at a time.
pub trait Crew {
    /// Starts a worker, in place of the one before. It knows of no checks.
    ///
    /// # Errors
    /// [`StartError`].
    fn start(&mut self, keep_events: bool) -> Result<Started, StartError>;

    /// Tells the worker of checks that are merged.
    ///
    /// # Errors
    /// The worker is gone.
    fn know(&mut self, known: &Known) -> Result<(), Death>;

    /// Has the worker run a unit.
    ///
    /// # Errors
    /// The worker is gone.
    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitResult, Death>;

    /// Another worker is to replay something. Where there can be one only, the worker of this crew
    /// ends, and is to be started again: that is the answer.
    fn rest(&mut self) -> bool {
        false
    }
}

/// Why a worker could not be started.
#[derive(Debug)]
pub enum StartError {
    /// It has said why.
    Said(RunError),
    /// It is gone.
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
