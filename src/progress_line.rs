//! The progress of a run on a terminal: one line, redrawn below all other output and removed at the
//! end.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use explode_runtime::plan::RunSettings;
use explode_runtime::report::{HumanWriter, Message, Progress, escaped, progress_text, share};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The length of the bar, in indicatif's units.
const WHOLE: u64 = 1000;

/// The line of this process, for other code that writes to the terminal.
static LINE: Mutex<Line> = Mutex::new(Line::None);

#[derive(Debug)]
enum Line {
    /// There is no line and will be none.
    None,
    /// The run has not begun.
    Coming,
    Shown(ProgressBar),
}

fn line() -> MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes whole lines to standard error, above the line of progress if there is one.
pub fn write_above(lines: &[u8]) {
    let lines = String::from_utf8_lossy(lines);
    let lines = escaped(&lines);
    // If there is no reader, the lines are not needed.
    let write = || drop(io::stderr().lock().write_all(lines.as_bytes()));
    match &*line() {
        Line::Shown(bar) => bar.suspend(write),
        Line::None | Line::Coming => write(),
    }
}

/// The progress line on standard output.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    /// The settings of the current run. `None` before and after it.
    settings: Option<RunSettings>,
}

impl ProgressLine {
    /// Returns a progress line. `None` if standard output is not a terminal that can redraw a line.
    pub fn on_terminal() -> Option<ProgressLine> {
        let bar = ProgressBar::with_draw_target(Some(WHOLE), ProgressDrawTarget::stdout());
        if bar.is_hidden() {
            return None;
        }
        *line() = Line::Coming;
        Some(ProgressLine { bar, settings: None })
    }

    /// Shows progress, and writes all other messages above it.
    ///
    /// # Errors
    /// Errors of `human`'s output.
    pub fn show_message<W: Write>(
        &mut self,
        message: &Message,
        human: &mut HumanWriter<W>,
    ) -> io::Result<()> {
        match message {
            Message::Run(info) => {
                human.message(message)?;
                self.begin(&info.options);
                Ok(())
            }
            Message::Progress(progress) => {
                self.show(progress);
                Ok(())
            }
            Message::Summary(_) => {
                self.end();
                human.message(message)
            }
            _ => self.bar.suspend(|| human.message(message)),
        }
    }

    /// Removes the line.
    pub fn end(&self) {
        *line() = Line::None;
        self.bar.finish_and_clear();
    }

    fn begin(&mut self, settings: &RunSettings) {
        let bounded = share(settings, 0, Duration::ZERO).is_some();
        let template =
            if bounded { "{spinner} {bar:10} {wide_msg}" } else { "{spinner} {wide_msg}" };
        self.bar.set_style(ProgressStyle::with_template(template).expect("a sound template"));
        self.bar.reset_elapsed();
        self.settings = Some(settings.clone());
        *line() = Line::Shown(self.bar.clone());
        self.show(&Progress::default());
        // Steps and replays may take long, so the spinner turns by itself.
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn show(&self, progress: &Progress) {
        let settings = self.settings.as_ref();
        let done =
            settings.and_then(|settings| share(settings, progress.states, self.bar.elapsed()));
        if let Some(done) = done {
            self.bar.set_position((done * WHOLE as f64) as u64);
        }
        self.bar.set_message(progress_text(progress));
    }
}
