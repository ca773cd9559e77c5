//! The diagnostics of a worker: spans and log lines. They are sent only if the supervisor requests
//! them.
//!
//! A [`Span`] has the time of the worker's clock. With its spans a worker sends the time at which
//! it received its current order. The supervisor knows when it sent that order, and moves the spans
//! to its own clock. A moved span is at most one transfer too early, and lies within the time in
//! which the supervisor waited for the worker.

use serde::{Deserialize, Serialize};

/// An action of a worker from its begin to its end, or an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The name of the action or the event.
    pub name: String,
    /// The number of the thread that did it, or of the simulated host on which it happened. Those
    /// of a process have numbers from 0.
    pub lane: u32,
    /// The time of its begin, in nanoseconds.
    pub begin: u64,
    /// The duration in nanoseconds; `None` for an event.
    pub nanos: Option<u64>,
    /// Further data, by name.
    pub fields: Vec<(String, Field)>,
}

/// The value of a field of a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Field {
    /// A number.
    Number(u64),
    /// Anything else, as text.
    Text(String),
}

/// The diagnostics that the supervisor wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticsWanted {
    /// True if spans are kept and sent.
    pub spans: bool,
    /// The filter for log lines, as in `RUST_LOG`; empty for no lines.
    pub log: String,
}

/// The diagnostics that a worker sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenDiagnostics {
    /// The spans that have closed since the last time.
    pub spans: Vec<Span>,
    /// The log lines that the worker cannot write to standard error.
    pub lines: String,
}

/// The diagnostics of the process that a worker runs in.
pub trait Diagnostics {
    /// Begins to keep the wanted diagnostics.
    fn begin(&self, wanted: &DiagnosticsWanted);

    /// Returns the time of the clock of spans, in nanoseconds.
    fn now(&self) -> u64;

    /// Returns the diagnostics since the last call. `None` if there are none or, with `all` false,
    /// if it is better to wait for more.
    fn take(&self, all: bool) -> Option<TakenDiagnostics>;
}

/// The diagnostics of a worker that keeps none.
#[derive(Clone, Copy, Debug)]
pub struct NoDiagnostics;

impl Diagnostics for NoDiagnostics {
    fn begin(&self, _wanted: &DiagnosticsWanted) {}

    fn now(&self) -> u64 {
        0
    }

    fn take(&self, _all: bool) -> Option<TakenDiagnostics> {
        None
    }
}

/// The supervisor's side of diagnostics: requests them from workers and receives them.
pub trait Observer {
    /// Returns the diagnostics that each worker is to keep.
    fn wanted(&self) -> DiagnosticsWanted;

    /// Returns the number for a new worker.
    fn worker_number(&self) -> u32;

    /// Returns the time of the supervisor's clock of spans, in nanoseconds.
    fn now(&self) -> u64;

    /// Receives the diagnostics of a worker. Their spans have the time of the supervisor's clock.
    fn observed(&self, worker: u32, taken: TakenDiagnostics);
}

impl TakenDiagnostics {
    /// Moves the spans to another clock, which was at `to` when theirs was at `from`.
    pub(super) fn moved(mut self, from: u64, to: u64) -> TakenDiagnostics {
        for span in &mut self.spans {
            span.begin = (span.begin + to).saturating_sub(from);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_move_to_the_clock_of_the_supervisor() {
        let span = |begin| Span {
            name: "unit".to_owned(),
            lane: 0,
            begin,
            nanos: Some(7),
            fields: Vec::new(),
        };
        let taken = |begins: &[u64]| TakenDiagnostics {
            spans: begins.iter().copied().map(span).collect(),
            lines: String::new(),
        };
        // A guest that has just booted, and one whose clock is ahead.
        assert_eq!(taken(&[100, 130]).moved(100, 5000), taken(&[5000, 5030]));
        assert_eq!(taken(&[9000, 9001]).moved(9000, 50), taken(&[50, 51]));
        // A span that ended before the order was received.
        assert_eq!(taken(&[10]).moved(100, 50), taken(&[0]));
    }
}
