//! The progress of a run: its totals, its findings, and its time.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::deadline::RunDeadline;
use super::findings::Findings;
use super::sink::RunSink;
use super::totals::Totals;
use crate::base::{ExactCount, RunError};
use crate::plan::{Plan, RunSettings};
use crate::report::{DepthDone, Message, Progress, Summary, rate};
use crate::worker::WorkerStarted;

/// The time between two messages of progress.
const PROGRESS: Duration = Duration::from_secs(1);

/// The data of a run, except its strategy.
pub(super) struct RunState<'a> {
    settings: &'a RunSettings,
    pub time: RunDeadline<'a>,
    started: Instant,
    /// The time that earlier processes took for the run.
    pub before: Duration,
    last_progress: Instant,
    /// True if a bound, the budget or an interrupt has ended the run before the strategy did.
    pub stopped: bool,
    pub totals: Totals,
    pub findings: Findings<'a>,
    /// The number of mutates at each depth, as the checker counts them.
    forecast: Vec<ExactCount>,
    /// The length up to which all paths are explored, as it was reported last.
    explored: u32,
}

impl<'a> RunState<'a> {
    pub fn new(
        plan: &'a Plan,
        started: &WorkerStarted,
        interrupt: Option<&'a AtomicBool>,
    ) -> RunState<'a> {
        let now = Instant::now();
        RunState {
            settings: &plan.settings,
            time: RunDeadline::new(plan.settings.budget_ms, interrupt),
            started: now,
            before: Duration::ZERO,
            last_progress: now,
            stopped: false,
            totals: Totals::new(plan.settings.crash_depth),
            findings: Findings::new(plan, started.origin.clone()),
            forecast: started.forecast.clone(),
            explored: 0,
        }
    }

    pub fn bound_reached(&self) -> bool {
        self.settings.states.is_some_and(|most| self.totals.states() >= most) || self.time.is_up()
    }

    /// Reports progress if that is due. `waiting` is the number of states that wait. `checked` is
    /// the number of checks that the running unit has made.
    pub fn report_progress(
        &mut self,
        waiting: usize,
        checked: u64,
        sink: &mut dyn RunSink,
    ) -> Result<(), RunError> {
        if self.last_progress.elapsed() < PROGRESS {
            return Ok(());
        }
        self.last_progress = Instant::now();
        sink.emit(&Message::Progress(self.progress(waiting, checked)))
    }

    fn progress(&self, waiting: usize, checked: u64) -> Progress {
        let summary = &self.totals.summary;
        let mut progress = Progress {
            states: self.totals.states(),
            waiting: waiting as u64,
            operations: summary.operations.clone(),
            checked: summary.checked.clone(),
            equivalent: summary.equivalent.clone(),
            left_out: summary.left_out.clone(),
            findings: self.findings.distinct(),
            rate: 0.0,
            seconds: self.seconds(),
        };
        progress.checked += checked;
        progress.rate = rate(&progress.checked, self.elapsed_ms());
        progress
    }

    /// Reports that all paths of up to `explored` mutates are explored, if that is new and the
    /// checker counts its workloads. The number of disks of longer paths follows from theirs.
    pub fn report_depth(
        &mut self,
        explored: Option<u32>,
        sink: &mut dyn RunSink,
    ) -> Result<(), RunError> {
        let Some(explored) = explored.filter(|depth| *depth > self.explored) else { return Ok(()) };
        self.explored = explored;
        let counts = self
            .totals
            .depths(explored, &self.forecast)
            .into_iter()
            .find(|one| one.depth == explored);
        let Some(counts) = counts.filter(|_| !self.forecast.is_empty()) else { return Ok(()) };
        let next_mutates = self.forecast.get(explored as usize).cloned();
        let next_disks = next_mutates.as_ref().and_then(|next| {
            let disks = &next.0 * &counts.checked.0;
            Some(ExactCount(disks / &counts.mutates.0)).filter(|disks| !disks.is_zero())
        });
        let seconds = self.seconds();
        sink.emit(&Message::Depth(DepthDone { counts, seconds, next_mutates, next_disks }))
    }

    /// Returns the summary of the run. All paths of up to `explored` mutates are explored; `None`
    /// if the strategy does not take paths by their length.
    pub fn finish(&self, explored: Option<u32>) -> Summary {
        let mut summary = self.totals.summary.clone();
        // The last unit of a stopped run may lack checks.
        let explored = explored.filter(|_| !self.forecast.is_empty());
        let explored = explored.map(|depth| if self.stopped { self.explored } else { depth });
        summary.depths =
            explored.map_or_else(Vec::new, |depth| self.totals.depths(depth, &self.forecast));
        summary.states = self.totals.states().into();
        summary.deepest = self.totals.deepest();
        summary.topologies =
            Some(self.totals.topologies()).filter(|count| *count > 0).map(ExactCount::from);
        summary.findings = self.findings.distinct().into();
        summary.broken = self.findings.times_broken.into();
        // Random walks never cover everything, however many they are.
        summary.complete = !self.stopped
            && !self.settings.strategy.is_endless()
            && summary.left_out.is_zero()
            && summary.crash_crash_left_out.is_zero()
            && summary.pending.is_zero();
        summary.has_ended = !self.stopped;
        summary.seconds = self.seconds();
        summary
    }

    pub fn elapsed_ms(&self) -> u64 {
        (self.before + self.started.elapsed()).as_millis() as u64
    }

    /// Returns the time of the run in seconds, to the millisecond.
    fn seconds(&self) -> f64 {
        self.elapsed_ms() as f64 / 1000.0
    }
}
