//! The diagnostics of a supervisor: its own, and those that its workers send. There is one set in a
//! process, as there is one subscriber.

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

/// Begins the log that `-v`, given so often, and `RUST_LOG` ask for, and keeps spans if they are
/// wanted. If nothing is asked for, nothing is kept.
///
/// # Errors
/// `RUST_LOG` has another form.
pub fn begin(verbose: u8, spans: bool) -> Result<(), UsageError> {
    let log = directives(verbose)?;
    if log.is_empty() && !spans {
        return Ok(());
    }
    let recorder = Recorder::of_now();
    let subscriber = tracing_subscriber::registry()
        .with(layer(&log, Above(progress_line::write_above)))
        .with(spans.then(|| recorder.clone()));
    // Where a program has a subscriber of its own, that one stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
    let wanted = DiagnosticsWanted { spans, log };
    let here = Here { wanted, recorder, timeline: Mutex::default(), workers: AtomicU32::new(0) };
    let _ = HERE.set(here);
    Ok(())
}

/// Who gets the diagnostics of workers, if any are wanted.
pub fn observer() -> Option<&'static (dyn Observer + Sync)> {
    HERE.get().map(|here| here as &(dyn Observer + Sync))
}

/// From now on spans go to this output.
pub fn write_timeline(path: &Path, output: Output) {
    if let Some(here) = HERE.get() {
        *here.timeline() = Some(Timeline::new(path, output));
    }
}

/// Ends the file of spans, if there is one.
///
/// # Errors
/// It could not be written.
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

    fn hired(&self) -> u32 {
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
