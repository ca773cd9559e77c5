//! The interface of a unit to its caller: choices, crash checks, and progress.

use crate::check::CrashRequest;
use crate::choose::{Choice, ChoicePoint};
use crate::events::CallLog;
use crate::explore::ReachedState;
use crate::judge::CrashPipeline;
use crate::stack::Stack;
use crate::trace::Position;
use crate::verdict::{CheckError, WorkerStep};

/// Makes the choices and the crash checks of a unit, and receives its states.
pub trait UnitHooks {
    /// Makes the choice at a point past the end of the script.
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32;

    /// Returns the next choices, if they are known. The kernel's own choices cannot wait for them.
    fn ahead(&self) -> Vec<Choice> {
        Vec::new()
    }

    /// Reports a choice of the kernel past the end of the script. It follows
    /// [`ahead`](UnitHooks::ahead) if that returned any.
    fn chosen(&mut self, _choice: &Choice) {}

    /// Returns the log for the calls on the stack. `None` if they are not logged.
    fn log(&self) -> Option<CallLog> {
        None
    }

    /// Returns true if the unit must end before its next step.
    fn stop(&mut self) -> bool {
        false
    }

    /// Announces a step that may hang or kill this process.
    fn before(&mut self, _step: WorkerStep, _so_far: &UnitProgress<'_>) {}

    /// Makes the crash checks that a checker requests in an explored mutate.
    ///
    /// # Errors
    /// [`CheckError::Stop`] if this state is not explored further.
    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        request: &CrashRequest<'_>,
        so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError>;

    /// Receives the state after a mutate, or after the checker's `init` (depth 0). `signature` has
    /// the checker's own bytes, if it gives any. Returns true if the unit continues. The result
    /// counts only if there are `more` mutates.
    fn reached(&mut self, arrival: ReachedState, signature: Option<&[u8]>, more: bool) -> bool;
}

/// The progress of a unit.
#[derive(Clone, Copy, Debug)]
pub struct UnitProgress<'a> {
    /// All choices so far.
    pub choices: &'a [Choice],
    /// The number of calls of mutate that were explored.
    pub operations: u64,
    /// The position of the unit.
    pub place: Position,
}
