//! A story without a worker, for a program that has already opened the backend.

use super::critical::CriticalSearch;
use super::story::{Story, StoryRun};
use crate::base::RunError;
use crate::devices::Backend;
use crate::plan::Registry;
use crate::trace::Trace;
use crate::unit::open;
use crate::verdict::{Violation, WorkerStep};
use crate::worker::probe::{
    CrashPoint, ProbeAnswers, ProbeChannel, ProbeCommand, ProbeEnd, ProbeGoal, ProbeOrder,
    ProbeReply, StoppedAt, run_probe,
};

/// Stores the place where the probe has stopped, and ends the probe.
#[derive(Default)]
struct StopKeeper(Option<StoppedAt>);

impl ProbeChannel for StopKeeper {
    fn before(&mut self, _step: WorkerStep) {}

    fn report(&mut self, _reply: ProbeReply) {}

    fn next(&mut self, reply: ProbeReply) -> ProbeCommand {
        if let ProbeReply::Stopped(stopped) = reply {
            self.0 = Some(stopped);
        }
        ProbeCommand::Enough
    }
}

/// Runs a trace in this thread up to its recorded disk, and returns its story. The disk is not
/// checked again, and no critical write is searched for.
///
/// # Errors
/// The trace names something unknown, or a component cannot start.
pub fn story_in_thread(
    registry: &Registry,
    trace: &Trace,
    backend: &dyn Backend,
) -> Result<Story, RunError> {
    let plan = trace.plan();
    let system = open(registry, &plan, backend)?;
    let order = ProbeOrder {
        answers: ProbeAnswers::Exactly(trace.choices.clone()),
        mutates: trace.mutates,
        verdict: trace.verdict,
        promise: trace.promise().to_owned(),
        until: CrashPoint::of(trace).map_or(ProbeGoal::Mutate, ProbeGoal::At),
        snapshot_before: false,
        noted: true,
        ticks: false,
    };
    let mut stands = StopKeeper::default();
    let probed = run_probe(&*system, &order, &mut stands);
    let violation = match probed.end {
        ProbeEnd::Violated(violation) => violation,
        ProbeEnd::Stopped => Violation::new(trace.verdict, trace.promise(), trace.message.clone()),
        ProbeEnd::Nothing(why, _) | ProbeEnd::Diverged(why) => {
            return Ok(Story::of_file(trace.clone(), why));
        }
        ProbeEnd::Broken(why) => return Err(why.into()),
    };
    let stopped = stands.0;
    let not_made = || CriticalSearch::NotMade("no worker tries other disks".to_owned());
    let retold = StoryRun {
        choices: probed.choices,
        failed: probed.failed,
        violation,
        by_search: false,
        critical: stopped.as_ref().map(|_| not_made()),
        stopped,
        promise: probed.promise,
        told: probed.told,
        other_versions: Vec::new(),
    };
    Ok(Story { trace: trace.clone(), retold: Ok(retold) })
}
