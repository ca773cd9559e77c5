//! The file of `--timeline`.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use explode_runtime::base::{Output, RunError, Writing};
use explode_runtime::worker::Span;

use super::chrome::Chrome;

/// The number of spans at which the file is opened, if the run does not end before. The file may
/// lie in the run folder, which exists by then.
const SPANS: usize = 1000;

/// A file of spans, written as they arrive. It gets its name when it is finished.
#[derive(Debug)]
pub struct Timeline {
    path: PathBuf,
    state: TimelineState,
}

#[derive(Debug)]
enum TimelineState {
    /// The output before it is opened, with the spans that wait.
    Waiting(Output, Vec<(u32, Vec<Span>)>),
    Open(Chrome<BufWriter<Writing>>),
    Failed(io::Error),
}

impl Timeline {
    /// Returns a timeline that goes to `output`, which an option names as `path`.
    pub fn new(path: &Path, output: Output) -> Timeline {
        Timeline { path: path.to_owned(), state: TimelineState::Waiting(output, Vec::new()) }
    }

    /// Adds the spans of a process. Writes nothing after an error.
    pub fn add(&mut self, process: u32, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let state =
            std::mem::replace(&mut self.state, TimelineState::Failed(io::ErrorKind::Other.into()));
        self.state = state.with(process, spans).unwrap_or_else(TimelineState::Failed);
    }

    /// Ends the file and makes it durable.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn finish(self) -> Result<(), RunError> {
        let Timeline { path, state } = self;
        let written = state.opened().and_then(|state| match state {
            TimelineState::Open(chrome) => {
                chrome.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
            }
            TimelineState::Waiting(..) => Ok(()),
            TimelineState::Failed(error) => Err(error),
        });
        let next = "make room there, or name another file with --timeline";
        written.map_err(|error| RunError::unwritable(&path, error, next))
    }
}

impl TimelineState {
    fn with(mut self, process: u32, spans: Vec<Span>) -> io::Result<TimelineState> {
        match &mut self {
            TimelineState::Waiting(_, waiting) => {
                waiting.push((process, spans));
                let spans: usize = waiting.iter().map(|(_, spans)| spans.len()).sum();
                if spans < SPANS { Ok(self) } else { self.opened() }
            }
            TimelineState::Open(chrome) => chrome.add(process, &spans).map(|()| self),
            TimelineState::Failed(_) => Ok(self),
        }
    }

    fn opened(self) -> io::Result<TimelineState> {
        match self {
            TimelineState::Waiting(output, waiting) => {
                let mut chrome = Chrome::new(BufWriter::new(output.open()?))?;
                waiting.iter().try_for_each(|(process, spans)| chrome.add(*process, spans))?;
                Ok(TimelineState::Open(chrome))
            }
            other => Ok(other),
        }
    }
}
