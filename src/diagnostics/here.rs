//! The diagnostics of a supervisor: its own, and those that its workers send. A process has one
//! set, because it has one subscriber.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use explode_runtime::base::{Output, RunError, UsageError};
use explode_runtime::worker::{DiagnosticsWanted, Observer, TakenDiagnostics};
use tracing_subscriber::layer::SubscriberExt as _;

use super::chrome::SUPERVISOR;
use super::log::{Above, directives, layer};
use super::recorder::Recorder;
use super::timeline::Timeline;
use crate::progress_line;

static HERE: OnceLock<Here> = OnceLock::new();

struct Here {
    wanted: DiagnosticsWanted,
    recorder: Recorder,
    timeline: Mutex<Option<Timeline>>,
    workers: AtomicU32,
}

/// Starts the log that `-v`, given `verbose` times, and `RUST_LOG` ask for. Keeps spans if `spans`
/// is true. Without either, nothing is kept.
///
/// # Errors
/// `RUST_LOG` cannot be parsed.
pub fn begin(verbose: u8, spans: bool) -> Result<(), UsageError> {
    let log = directives(verbose)?;
    if log.is_empty() && !spans {
        return Ok(());
    }
    let recorder = Recorder::of_now();
    let subscriber = tracing_subscriber::registry()
        .with(layer(&log, Above(progress_line::write_above)))
        .with(spans.then(|| recorder.clone()));
    // A program may have set its own subscriber, which stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
    let wanted = DiagnosticsWanted { spans, log };
    let here = Here { wanted, recorder, timeline: Mutex::default(), workers: AtomicU32::new(0) };
    let _ = HERE.set(here);
    Ok(())
}

/// Returns the receiver of workers' diagnostics. `None` if none are wanted.
pub fn observer() -> Option<&'static (dyn Observer + Sync)> {
    HERE.get().map(|here| here as &(dyn Observer + Sync))
}

/// Sends spans to this output from now on.
pub fn write_timeline(path: &Path, output: Output) {
    if let Some(here) = HERE.get() {
        *here.timeline() = Some(Timeline::new(path, output));
    }
}

/// Ends the file of spans, if there is one.
///
/// # Errors
/// The file could not be written.
pub fn finish_timeline() -> Result<(), RunError> {
    let Some(here) = HERE.get() else { return Ok(()) };
    let timeline = here.timeline().take();
    timeline.map_or(Ok(()), |mut timeline| {
        timeline.add(SUPERVISOR, here.recorder.take(0));
        timeline.finish()
    })
}

impl Here {
    fn timeline(&self) -> MutexGuard<'_, Option<Timeline>> {
        self.timeline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Here {
    fn wanted(&self) -> DiagnosticsWanted {
        self.wanted.clone()
    }

    fn worker_number(&self) -> u32 {
        self.workers.fetch_add(1, Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        self.recorder.now()
    }

    fn observed(&self, worker: u32, taken: TakenDiagnostics) {
        let TakenDiagnostics { spans, lines } = taken;
        if !lines.is_empty() {
            progress_line::write_above(lines.as_bytes());
        }
        if let Some(timeline) = &mut *self.timeline() {
            timeline.add(SUPERVISOR, self.recorder.take(0));
            timeline.add(SUPERVISOR + 1 + worker, spans);
        }
    }
}
