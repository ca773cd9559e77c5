//! The diagnostics of a worker.

use std::cell::OnceCell;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use explode_runtime::worker::{Diagnostics, DiagnosticsWanted, TakenDiagnostics};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use super::log::layer;
use super::recorder::Recorder;

/// The number of spans that are sent at once before the unit ends.
const SPANS: usize = 4096;

/// The destination of a worker's log lines.
#[derive(Clone, Debug)]
pub enum Lines {
    /// The worker's standard error.
    StandardError,
    /// The supervisor.
    Sent(Arc<Mutex<Vec<u8>>>),
}

/// The diagnostics of a worker process.
pub struct OfWorker {
    recorder: Recorder,
    lines: Lines,
    begun: OnceCell<()>,
}

impl OfWorker {
    /// Returns the diagnostics of this process, which are not kept until `begin`.
    pub fn new(lines: Lines) -> OfWorker {
        OfWorker { recorder: Recorder::of_now(), lines, begun: OnceCell::new() }
    }
}

impl Diagnostics for OfWorker {
    fn begin(&self, wanted: &DiagnosticsWanted) {
        if self.begun.set(()).is_err() {
            return;
        }
        let subscriber = tracing_subscriber::registry()
            .with(layer(&wanted.log, self.lines.clone()))
            .with(wanted.spans.then(|| self.recorder.clone()));
        // A program may have set its own subscriber, which stays.
        let _ = tracing::subscriber::set_global_default(subscriber);
    }

    fn now(&self) -> u64 {
        self.recorder.now()
    }

    fn take(&self, all: bool) -> Option<TakenDiagnostics> {
        let lines = self.lines.take();
        let spans = self.recorder.take(if all || !lines.is_empty() { 0 } else { SPANS });
        let is_empty = spans.is_empty() && lines.is_empty();
        (!is_empty).then_some(TakenDiagnostics { spans, lines })
    }
}

impl Lines {
    /// Returns the lines to send, and removes them.
    fn take(&self) -> String {
        match self {
            Lines::StandardError => String::new(),
            Lines::Sent(lines) => {
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                String::from_utf8_lossy(&std::mem::take(&mut *lines)).into_owned()
            }
        }
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self {
            Lines::StandardError => io::stderr().lock().write_all(line)?,
            Lines::Sent(lines) => {
                lines.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(line);
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Lines;

    fn make_writer(&self) -> Lines {
        self.clone()
    }
}
