//! The time at which a run has to end: after its budget, or on an interrupt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The end of a run's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunDeadline<'a> {
    until: Option<Instant>,
    interrupt: Option<&'a AtomicBool>,
}

impl<'a> RunDeadline<'a> {
    /// Creates a deadline `budget_ms` milliseconds from now, and on `interrupt`. Without a budget
    /// only the interrupt ends the run.
    pub fn new(budget_ms: Option<u64>, interrupt: Option<&'a AtomicBool>) -> RunDeadline<'a> {
        let until =
            budget_ms.and_then(|budget| Instant::now().checked_add(Duration::from_millis(budget)));
        RunDeadline { until, interrupt }
    }

    /// Returns true if the time is up.
    pub fn is_up(self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
            || self.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }
}
