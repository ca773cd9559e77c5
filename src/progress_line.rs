//! How a run looks on a terminal: one line of progress, redrawn in place below everything that is
//! said, and gone at the end.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use explode_runtime::plan::RunSettings;
use explode_runtime::report::{HumanWriter, Message, Progress, escaped, progress_text, share};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long the bar is, for indicatif: it counts in thousandths.
const WHOLE: u64 = 1000;

/// The line of this process, for other code that writes to the terminal.
static LINE: Mutex<Line> = Mutex::new(Line::None);

#[derive(Debug)]
enum Line {
    /// There is none, and there will be none.
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

/// The line of progress on standard output.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    /// Those of the run that goes on; none before and after.
    settings: Option<RunSettings>,
}

impl ProgressLine {
    /// None where no line can be redrawn: standard output is no terminal, or a dumb one.
    pub fn on_terminal() -> Option<ProgressLine> {
        let bar = ProgressBar::with_draw_target(Some(WHOLE), ProgressDrawTarget::stdout());
        if bar.is_hidden() {
            return None;
        }
        *line() = Line::Coming;
        Some(ProgressLine { bar, settings: None })
    }

    /// Shows progress, and says all other messages above it.
    ///
    /// # Errors
    /// Those of `human`'s output.
    pub fn tell<W: Write>(
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

    /// Takes the line away.
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
        // A step may take long, and a replay too: the spinner turns all the same.
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
