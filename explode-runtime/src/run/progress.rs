//! Where a run stands: its totals, its findings, and its time.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::deadline::RunDeadline;
use super::findings::Findings;
use super::sink::RunSink;
use super::totals::Totals;
use crate::base::{ExactCount, RunError};
use crate::plan::{Plan, RunSettings};
use crate::report::{Message, Progress, Summary, rate};
use crate::worker::WorkerStarted;

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(1);

/// Everything that a run remembers, but for its strategy.
pub(super) struct RunState<'a> {
    settings: &'a RunSettings,
    pub time: RunDeadline<'a>,
    started: Instant,
    /// How long earlier processes took for it.
    pub before: Duration,
    last_progress: Instant,
    /// A bound, the budget or an interrupt has ended it before the strategy did.
    pub stopped: bool,
    pub totals: Totals,
    pub findings: Findings<'a>,
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
        }
    }

    pub fn bound_reached(&self) -> bool {
        self.settings.states.is_some_and(|most| self.totals.states() >= most) || self.time.is_up()
    }

    /// Tells progress, if that is due; so many states wait, and the running unit has made so many
    /// checks.
    pub fn tell(
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

    /// Adds everything up.
    pub fn finish(&self) -> Summary {
        let mut summary = self.totals.summary.clone();
        summary.states = self.totals.states().into();
        summary.topologies =
            Some(self.totals.topologies()).filter(|count| *count > 0).map(ExactCount::from);
        summary.findings = self.findings.distinct().into();
        summary.broken = self.findings.times_broken.into();
        summary.complete = !self.stopped
            && summary.left_out.is_zero()
            && summary.crash_crash_left_out.is_zero()
            && summary.pending.is_zero();
        summary.seconds = self.seconds();
        summary
    }

    pub fn elapsed_ms(&self) -> u64 {
        (self.before + self.started.elapsed()).as_millis() as u64
    }

    /// To the millisecond.
    fn seconds(&self) -> f64 {
        self.elapsed_ms() as f64 / 1000.0
    }
}
