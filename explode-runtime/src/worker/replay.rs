//! Replaying a trace: the same choices, the same disk, the same verdict (EX-4, EX-59, EX-60).

use std::collections::HashSet;

use tracing::info_span;

use super::recorded::replay_recorded;
use super::witness::{FoundAgain, RecordedWitness, not_seen};
use crate::base::{Mode, RunError};
use crate::check::CrashRequest;
use crate::choose::{Choice, ChoicePoint, Divergence};
use crate::devices::Backend;
use crate::explore::{ReachedState, Unit};
use crate::judge::{CandidateDisk, Crash, CrashPipeline, check_still, judge as judge_disk};
use crate::plan::Registry;
use crate::stack::Stack;
use crate::trace::{
    CrashDiskRecord, NotReproduced, RecordedCrash, ReplayResult, ReplaySource, Trace,
};
use crate::unit::{UnitHooks, UnitProgress, UnitRun, UnitStop, open};
use crate::verdict::{CheckError, WorkerStep};

/// Replays a trace in this process, in this backend. If the trace is of a step that hangs or kills
/// its process, this process hangs or dies.
///
/// # Errors
/// The trace names an unknown item, or a component cannot start.
pub fn replay(
    registry: &Registry,
    trace: &Trace,
    backend: &dyn Backend,
) -> Result<ReplayResult, RunError> {
    replay_from(registry, (trace, ReplaySource::System), backend, &mut |_| {})
}

/// Replays a trace from a source, like [`replay`]. `on_step` receives each step before it is taken.
pub(crate) fn replay_from(
    registry: &Registry,
    (trace, source): (&Trace, ReplaySource),
    backend: &dyn Backend,
    on_step: &mut dyn FnMut(WorkerStep),
) -> Result<ReplayResult, RunError> {
    if source == ReplaySource::Recorded {
        return replay_recorded(registry, trace, backend, on_step);
    }
    let plan = trace.plan();
    let first_start = info_span!("first_start").entered();
    let mut system = open(registry, &plan, backend)?;
    drop(first_start);
    system.chop_at(&trace.chops);
    if source == ReplaySource::SystemRecorded && trace.mode == Mode::Mem {
        system.record();
    }
    let unit = Unit { script: trace.choices.clone(), mutates: trace.mutates, ..Unit::default() };
    let mut search = DiskSearch {
        trace,
        on_step,
        past_end: None,
        found: None,
        looked: None,
        by_search: false,
        recorded: None,
    };
    let ended = system.run(&unit, &mut search);
    result(trace, ended, search)
}

/// Returns the result of a unit that has followed a trace.
fn result(trace: &Trace, ended: UnitRun, search: DiskSearch<'_>) -> Result<ReplayResult, RunError> {
    let DiskSearch { past_end, found, looked, by_search, recorded, .. } = search;
    if let Some(divergence) = past_end {
        return Ok(ReplayResult::Diverged(divergence));
    }
    match &ended.early {
        Some(UnitStop::Diverged(divergence)) => {
            return Ok(ReplayResult::Diverged((**divergence).clone()));
        }
        Some(UnitStop::Broken(why)) => return Err(why.clone().into()),
        _ => {}
    }
    let index = ended.choices.len();
    if let Some(recorded) = trace.choices.get(index) {
        return Ok(ReplayResult::Diverged(Divergence::not_met(index, recorded.clone())));
    }
    if let Some(step) = trace.died {
        return Ok(not_seen(NotReproduced::StepFinished, format!("step {step} ended")));
    }
    Ok(match (ended.early, found, looked) {
        (Some(UnitStop::Violated(violation, _)), _, _) => match trace.epoch {
            None if violation.signature(&trace.checker) == trace.signature => {
                ReplayResult::Reproduced { violation, by_search: false, recorded: None }
            }
            _ => not_seen(
                NotReproduced::OtherViolation,
                format!("mutate itself found: {}", violation.message),
            ),
        },
        (_, Some(found), _) => {
            ReplayResult::Reproduced { violation: found.violation, by_search, recorded }
        }
        (_, None, _) if trace.epoch.is_none() => {
            not_seen(NotReproduced::NothingWrong, "mutate found nothing wrong")
        }
        (_, None, None) => not_seen(
            NotReproduced::NoRequest,
            "the request for crash checks that found it was not made",
        ),
        (_, None, Some(0)) => not_seen(
            NotReproduced::NoDisk,
            "no crash can leave the recorded disk in the recorded epoch, with these arguments",
        ),
        (_, None, Some(looked)) => {
            let why = format!("{looked} crash disks looked at, none failed that way");
            not_seen(NotReproduced::NothingWrong, why)
        }
    })
}

/// Searches the trace's interval for the trace's crash disk.
struct DiskSearch<'a> {
    trace: &'a Trace,
    on_step: &'a mut dyn FnMut(WorkerStep),
    past_end: Option<Divergence>,
    found: Option<FoundAgain>,
    /// The number of disks that were checked; `None` before the trace's interval.
    looked: Option<u64>,
    by_search: bool,
    recorded: Option<Box<RecordedCrash>>,
}

impl UnitHooks for DiskSearch<'_> {
    /// Answers a point past the end of the trace. The trace has every answer up to the finding, so
    /// such a point is on another path.
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let met = Some((point.options, point.kind, point.label.clone()));
        let index = self.trace.choices.len();
        self.past_end.get_or_insert(Divergence { index, recorded: None, met, answered: None });
        0
    }

    fn chosen(&mut self, choice: &Choice) {
        let index = self.trace.choices.len();
        self.past_end.get_or_insert(Divergence::by_answer(index, None, choice.clone()));
    }

    fn before(&mut self, step: WorkerStep, _so_far: &UnitProgress<'_>) {
        (self.on_step)(step);
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        request: &CrashRequest<'_>,
        so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        let place = so_far.place;
        (self.on_step)(WorkerStep::Between);
        if self.past_end.is_some() {
            return Err(CheckError::Stop);
        }
        let Some(wanted) =
            self.trace.crash_disk.as_ref().filter(|_| place.interval == self.trace.interval)
        else {
            return Ok(pipeline.skip(stack.devices(), request.when)?);
        };
        let judge = pipeline.judge();
        let mut seen = HashSet::new();
        let mut looked = 0;
        let open_request =
            pipeline.open_request(stack.devices(), request, (place.interval, so_far.choices))?;
        let log_hash = open_request.log_hash();
        self.by_search = format!("{log_hash:032x}") != self.trace.log;
        let by_search = self.by_search;
        let mut visit = |candidate: &CandidateDisk<'_>| {
            let CandidateDisk { disk, epoch, args, key, .. } = candidate;
            let recorded =
                || Some(*epoch) == self.trace.epoch && *args == self.trace.args && wanted.is(disk);
            let wanted = self.found.is_none() && (self.by_search || recorded());
            if !wanted || !seen.insert(*key) {
                return;
            }
            looked += 1;
            let trace = self.trace;
            let crash = Crash::of(judge, request, candidate, trace.recovery.len() as u32);
            let exactly = !self.by_search;
            let mut recorded =
                RecordedWitness { trace, on_step: &mut *self.on_step, exactly, found: None };
            judge_disk(&crash, *key, disk, &mut recorded);
            self.found = recorded.found;
        };
        // Another log often has the same pieces, with other contents.
        open_request.named(&wanted.blocks, &mut visit)?;
        if by_search {
            open_request.walk(visit)?;
        }
        check_still(stack.devices())?;
        self.looked = Some(looked);
        let is_all = stack.first_impure_layer().is_none();
        self.recorded = self.found.as_ref().filter(|_| is_all).and_then(|found| {
            let state = request.checker.disk_state()?;
            let mut disks = found.disks.iter().map(CrashDiskRecord::of);
            let disk = disks.next()?;
            let crash = pipeline.recorded()?;
            RecordedCrash::of(crash, log_hash, state, disk, disks.collect()).map(Box::new)
        });
        Err(CheckError::Stop)
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        self.past_end.is_none()
    }
}
