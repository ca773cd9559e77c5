//! The interface of a unit to its caller: choices, crash checks, and progress.

use num_bigint::BigUint;

use crate::base::{Broken, ExactCount};
use crate::check::CrashRequest;
use crate::choose::{Choice, ChoicePoint};
use crate::events::{CallLog, ToldStory};
use crate::explore::ReachedState;
use crate::judge::CrashPipeline;
use crate::stack::Stack;
use crate::trace::{Position, Witness};
use crate::verdict::{CheckError, Violation, WorkerStep};

/// Receives the walks of a unit that are too many for their choices to be kept.
pub trait WalkHooks {
    /// Returns true if each choice is wanted, because a worker has died in this unit.
    fn wants_choices(&self) -> bool;

    /// Announces the next walk. Choices from now on are its choices.
    fn next_walk(&mut self);

    /// Receives the end of a walk. Returns true if the unit continues.
    fn walked(&mut self, walk: WalkEnd) -> bool;

    /// Receives a failure of the tool, or of a system that is not deterministic.
    fn broken(&mut self, why: Broken);
}

/// The end of a walk.
#[derive(Clone, Debug, Default)]
pub struct WalkEnd {
    /// The identity of the walk.
    pub signature: u128,
    /// The number of its steps.
    pub steps: u32,
    /// The number of its choices.
    pub choices: u64,
    /// The broken promise, and the way to it. `None` if every promise is kept.
    pub violation: Option<(Violation, Witness)>,
}

/// Makes the choices and the crash checks of a unit, and receives its states.
pub trait UnitHooks {
    /// Returns the receiver of whole walks. `None` if each choice is wanted.
    fn walks(&mut self) -> Option<&mut dyn WalkHooks> {
        None
    }

    /// Receives the number of disks that a crash of one host could have left, where the system
    /// itself goes on with one of them, and the number of those that no sample contains.
    fn crashed(&mut self, _disks: &BigUint, _left_out: &BigUint) {}

    /// Adds to a count of the run.
    fn tally(&mut self, _group: &str, _name: &str, _count: &ExactCount) {}

    /// Returns true if the system shall tell its story.
    fn wants_story(&self) -> bool {
        false
    }

    /// Receives the story.
    fn tell(&mut self, _story: ToldStory) {}

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
