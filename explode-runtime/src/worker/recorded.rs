//! Replaying the recorded crash of a trace: the disk is built from the recorded events, and only
//! recovery and check run. The system does not.

use explode_ramdisk::{Image, Recording};

use super::witness::{FoundAgain, RecordedWitness, not_seen};
use crate::base::{RunError, UsageError};
use crate::check::{CrashRequest, Whole};
use crate::devices::{Backend, HostId, Side};
use crate::judge::{CandidateDisk, Crash, CrashPipeline, judge as judge_disk};
use crate::plan::Registry;
use crate::stack::Stack;
use crate::trace::{NotReproduced, RecordedCrash, ReplayResult, Trace};
use crate::verdict::WorkerStep;

/// The message for a trace without a recorded crash.
const NONE: &str = "it has no recorded crash; only findings on the simulated files of programs \
                    have one, up to a size of 16 MiB; omit --recorded";

/// Replays the recorded crash of a trace.
///
/// # Errors
/// The trace has no recorded crash, or it is damaged; or the trace names an unknown item.
pub fn replay_recorded(
    registry: &Registry,
    trace: &Trace,
    backend: &dyn Backend,
    on_step: &mut dyn FnMut(WorkerStep),
) -> Result<ReplayResult, RunError> {
    let recorded = trace.recorded.as_deref().ok_or_else(|| UsageError(NONE.to_owned()))?;
    let damaged = |why: String| UsageError(format!("its recorded crash is damaged: {why}"));
    let log = recorded.log().map_err(damaged)?;
    let plan = trace.plan();
    plan.check(registry)?;
    let plan = plan.completed(registry)?;
    let settings = &plan.settings;
    let devices =
        backend.disks(HostId::default(), Side::Live, Image::new(), Recording::Off, settings.seed);
    let components = &registry.components;
    let stack = Stack::build(&plan.stack, components, devices, settings.rules, settings.seed)?;
    let blueprint = stack.blueprint();
    drop(stack);
    let made = registry.checker_of(&plan)?.make(&plan.checker_options)?;
    let saved = made.abilities().saved.ok_or_else(|| UsageError(NONE.to_owned()))?;
    let checker = saved.restored(&recorded.checker).map_err(|error| damaged(error.to_string()))?;
    let (whole, args) = (Whole(checker.as_ref()), &trace.args[..]);
    let request = CrashRequest { checker: &whole, when: log.when, begin: args, args, at: None };
    let mut pipeline = CrashPipeline::new(&blueprint, &plan, backend, log.base.clone());
    let judge = pipeline.judge();
    let open_request = pipeline.open_recorded(log, &request)?;
    if format!("{:032x}", open_request.log_hash()) != recorded.log {
        return Err(damaged("its events have another hash".to_owned()).into());
    }
    // The recorded crash may be of another run than the trace's own.
    let RecordedCrash { crash_disk, recovery, log, .. } = recorded.clone();
    let own = Trace { crash_disk: Some(crash_disk), recovery, log, ..trace.clone() };
    let wanted = &recorded.crash_disk;
    let mut found: Option<FoundAgain> = None;
    let mut is_there = false;
    open_request.named(&wanted.blocks, |candidate: &CandidateDisk<'_>| {
        if found.is_some() || Some(candidate.epoch) != own.epoch || !wanted.is(candidate.disk) {
            return;
        }
        is_there = true;
        let crash = Crash::of(judge, &request, candidate, own.recovery.len() as u32);
        let on_step = &mut *on_step;
        let mut witness = RecordedWitness { trace: &own, on_step, exactly: true, found: None };
        judge_disk(&crash, candidate.key, candidate.disk, &mut witness);
        found = witness.found;
    })?;
    Ok(match found {
        Some(FoundAgain { violation, .. }) => {
            ReplayResult::Reproduced { violation, by_search: false, recorded: None }
        }
        None if is_there => not_seen(
            NotReproduced::NothingWrong,
            "the recorded disk was checked, and nothing is wrong with it",
        ),
        None => not_seen(
            NotReproduced::NoDisk,
            "no crash after the recorded events can leave the recorded disk",
        ),
    })
}
