//! Diagnostics of a worker: spans and lines of log. A supervisor that does not ask for them gets
//! no message about them.
//!
//! A [`Span`] has the time of the worker's clock. With its spans a worker sends when it heard the
//! word that it obeys; the supervisor knows when it sent that word, and so moves the spans to its
//! own clock. They end up at most one transfer too early, and within the time in which the
//! supervisor waited for the worker.

use serde::{Deserialize, Serialize};

/// Something that a worker did, from its begin to its end; or an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// What was done.
    pub name: String,
    /// The thread that did it: each thread of a process has a number, from 0.
    pub lane: u32,
    /// When it began, in nanoseconds.
    pub begin: u64,
    /// How long it took, in nanoseconds; none for an event.
    pub nanos: Option<u64>,
    /// More about it.
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

/// Which diagnostics are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticsWanted {
    /// Spans are kept and sent.
    pub spans: bool,
    /// Which lines are logged, as in `RUST_LOG`; empty for none.
    pub log: String,
}

/// What a worker sends of its diagnostics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenDiagnostics {
    /// The spans that have closed since the last time.
    pub spans: Vec<Span>,
    /// The lines of log that the worker cannot write to standard error.
    pub lines: String,
}

/// The diagnostics of the process that a worker runs in.
pub trait Diagnostics {
    /// Begins to keep what is wanted.
    fn begin(&self, wanted: &DiagnosticsWanted);

    /// The time of the clock of spans, in nanoseconds.
    fn now(&self) -> u64;

    /// Returns what was kept since the last call. With `all` false: none if it is better to wait
    /// for more.
    fn take(&self, all: bool) -> Option<TakenDiagnostics>;
}

/// No diagnostics: for workers that are not asked for any.
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

/// The supervisor's side: asks workers for diagnostics, and gets them.
pub trait Observer {
    /// What each worker is asked for.
    fn wanted(&self) -> DiagnosticsWanted;

    /// Returns the number of a new worker.
    fn hired(&self) -> u32;

    /// The time of the supervisor's clock of spans, in nanoseconds.
    fn now(&self) -> u64;

    /// Receives what a worker has sent; its spans have the time of the supervisor's clock.
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
        // What was closed before the word was heard.
        assert_eq!(taken(&[10]).moved(100, 50), taken(&[0]));
    }
}
