//! Who makes the crash checks of a unit, and what is said to it of how far the unit is.

use crate::check::CrashRequest;
use crate::choose::{Choice, ChoicePoint};
use crate::events::CallLog;
use crate::explore::ReachedState;
use crate::judge::CrashPipeline;
use crate::stack::Stack;
use crate::trace::Position;
use crate::verdict::{CheckError, WorkerStep};

/// Who makes the crash checks of a unit, hears of its states and answers its choices.
pub trait UnitHooks {
    /// The answer to a point past the end of the script.
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32;

    /// The answers that it will give next, as far as they are known: the kernel's own choices
    /// cannot wait for them.
    fn ahead(&self) -> Vec<Choice> {
        Vec::new()
    }

    /// The kernel has chosen, past the end of the script and by what was known
    /// [`ahead`](UnitHooks::ahead), if anything.
    fn chosen(&mut self, _choice: &Choice) {}

    /// Where the calls on the stack are written down, if they are.
    fn log(&self) -> Option<CallLog> {
        None
    }

    /// Shall the unit end before its next step?
    fn stop(&mut self) -> bool {
        false
    }

    /// A step that may hang, or end this process, comes next.
    fn before(&mut self, _step: WorkerStep, _so_far: &UnitProgress<'_>) {}

    /// A checker asks for crash checks, in a mutate that is being explored.
    ///
    /// # Errors
    /// [`CheckError::Stop`] when this state is not to be explored further.
    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        ask: &CrashRequest<'_>,
        so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError>;

    /// A mutate has returned, or the checker has begun (depth 0): in this state, whose signature
    /// has these bytes if the checker gives any. Shall the unit go on? The answer counts only if
    /// there are `more` mutates.
    fn reached(&mut self, arrival: ReachedState, signature: Option<&[u8]>, more: bool) -> bool;
}

/// How far a unit is.
#[derive(Clone, Copy, Debug)]
pub struct UnitProgress<'a> {
    /// Every choice made.
    pub choices: &'a [Choice],
    /// Calls of mutate that were explored.
    pub operations: u64,
    /// Where it is.
    pub place: Position,
}
