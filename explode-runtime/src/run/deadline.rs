//! When a run has to end, whatever is left: after its budget, or on an interrupt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The end of a run's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunDeadline<'a> {
    until: Option<Instant>,
    interrupt: Option<&'a AtomicBool>,
}

impl<'a> RunDeadline<'a> {
    /// It ends so many milliseconds from now, if ever, and when `interrupt` is set.
    pub fn new(budget_ms: Option<u64>, interrupt: Option<&'a AtomicBool>) -> RunDeadline<'a> {
        let until =
            budget_ms.and_then(|budget| Instant::now().checked_add(Duration::from_millis(budget)));
        RunDeadline { until, interrupt }
    }

    /// Is it over?
    pub fn is_up(self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
            || self.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }
}
