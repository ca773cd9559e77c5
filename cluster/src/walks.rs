//! Walks made in this thread, without a supervisor.

use explode_runtime::base::{Broken, ExactCount};
use explode_runtime::check::CrashRequest;
use explode_runtime::choose::{ChoicePoint, Policy};
use explode_runtime::explore::{ReachedState, Unit};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::stack::Stack;
use explode_runtime::unit::{System, UnitHooks, UnitProgress, UnitStop, WalkEnd, WalkHooks};
use explode_runtime::verdict::CheckError;
use num_bigint::BigUint;

/// A receiver of walks.
pub(crate) trait WalkReceiver {
    /// Receives the end of a walk. Returns true if another walk is wanted.
    fn walked(&mut self, walk: WalkEnd) -> bool;

    /// Receives the number of disks that the crashes of a walk could have left.
    fn crashed(&mut self, _disks: &BigUint) {}

    /// Receives a count of a walk.
    fn tally(&mut self, _group: &str, _name: &str, _count: &ExactCount) {}
}

/// Makes at most `walks` walks of `steps` steps, from the policy's own on.
///
/// # Errors
/// A node uses what a host does not have, or is not deterministic.
pub(crate) fn make_walks(
    system: &dyn System,
    policy: Policy,
    (walks, steps): (u32, u32),
    receiver: &mut dyn WalkReceiver,
) -> Result<(), Broken> {
    let unit = Unit { mutates: steps, policy, further_walks: walks - 1, ..Unit::default() };
    let mut hooks = Receiving { receiver, broken: None };
    let run = system.run(&unit, &mut hooks);
    match (hooks.broken, run.early) {
        (Some(broken), _) | (None, Some(UnitStop::Broken(broken))) => Err(broken),
        _ => Ok(()),
    }
}

struct Receiving<'a> {
    receiver: &'a mut dyn WalkReceiver,
    broken: Option<Broken>,
}

impl WalkHooks for Receiving<'_> {
    fn wants_choices(&self) -> bool {
        false
    }

    fn next_walk(&mut self) {}

    fn walked(&mut self, walk: WalkEnd) -> bool {
        self.receiver.walked(walk) && self.broken.is_none()
    }

    fn broken(&mut self, why: Broken) {
        self.broken.get_or_insert(why);
    }
}

impl UnitHooks for Receiving<'_> {
    fn walks(&mut self) -> Option<&mut dyn WalkHooks> {
        Some(self)
    }

    fn crashed(&mut self, disks: &BigUint, _left_out: &BigUint) {
        self.receiver.crashed(disks);
    }

    fn tally(&mut self, group: &str, name: &str, count: &ExactCount) {
        self.receiver.tally(group, name, count);
    }

    fn fallback(&mut self, _point: &ChoicePoint<'_>) -> u32 {
        0
    }

    fn crashes(
        &mut self,
        _pipeline: &mut CrashPipeline<'_>,
        _stack: &Stack,
        _request: &CrashRequest<'_>,
        _so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        Err(CheckError::broken("a cluster runs on hosts of its own, not on one stack"))
    }

    fn reached(&mut self, _: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        true
    }
}
