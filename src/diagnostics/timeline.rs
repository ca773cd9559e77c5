//! The file of `--timeline`.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use explode_runtime::base::{Output, RunError, Writing};
use explode_runtime::worker::Span;

use super::chrome::Chrome;

/// The file is opened when there are so many spans, or at the end: the run folder, in which it may
/// lie, is there by then.
const SPANS: usize = 1000;

/// A file of spans, written as they come. It has its name when it is finished.
#[derive(Debug)]
pub struct Timeline {
    path: PathBuf,
    state: TimelineState,
}

#[derive(Debug)]
enum TimelineState {
    /// It is not open yet; what waits for it.
    Waiting(Output, Vec<(u32, Vec<Span>)>),
    Open(Chrome<BufWriter<Writing>>),
    Failed(io::Error),
}

impl Timeline {
    /// One that goes to this output, which an option names like this.
    pub fn new(path: &Path, output: Output) -> Timeline {
        Timeline { path: path.to_owned(), state: TimelineState::Waiting(output, Vec::new()) }
    }

    /// Adds the spans of a process. After an error nothing more is written.
    pub fn add(&mut self, process: u32, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let state =
            std::mem::replace(&mut self.state, TimelineState::Failed(io::ErrorKind::Other.into()));
        self.state = state.with(process, spans).unwrap_or_else(TimelineState::Failed);
    }

    /// Ends the file, which is durable from now on.
    ///
    /// # Errors
    /// It could not be written.
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
