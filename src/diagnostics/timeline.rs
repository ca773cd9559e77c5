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
    state: State,
}

#[derive(Debug)]
enum State {
    /// It is not open yet; what waits for it.
    Waiting(Output, Vec<(u32, Vec<Span>)>),
    Open(Chrome<BufWriter<Writing>>),
    Failed(io::Error),
}

impl Timeline {
    /// One that goes to this output, which an option names like this.
    pub fn new(path: &Path, output: Output) -> Timeline {
        Timeline { path: path.to_owned(), state: State::Waiting(output, Vec::new()) }
    }

    /// Adds the spans of a process. After an error nothing more is written.
    pub fn add(&mut self, process: u32, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let state = std::mem::replace(&mut self.state, State::Failed(io::ErrorKind::Other.into()));
        self.state = state.with(process, spans).unwrap_or_else(State::Failed);
    }

    /// Ends the file, which is durable from now on.
    ///
    /// # Errors
    /// It could not be written.
    pub fn finish(self) -> Result<(), RunError> {
        let Timeline { path, state } = self;
        let written = state.opened().and_then(|state| match state {
            State::Open(chrome) => {
                chrome.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
            }
            State::Waiting(..) => Ok(()),
            State::Failed(error) => Err(error),
        });
        let next = "make room there, or name another file with --timeline";
        written.map_err(|error| RunError::unwritable(&path, error, next))
    }
}

impl State {
    fn with(mut self, process: u32, spans: Vec<Span>) -> io::Result<State> {
        match &mut self {
            State::Waiting(_, waiting) => {
                waiting.push((process, spans));
                let spans: usize = waiting.iter().map(|(_, spans)| spans.len()).sum();
                if spans < SPANS { Ok(self) } else { self.opened() }
            }
            State::Open(chrome) => chrome.add(process, &spans).map(|()| self),
            State::Failed(_) => Ok(self),
        }
    }

    fn opened(self) -> io::Result<State> {
        match self {
            State::Waiting(output, waiting) => {
                let mut chrome = Chrome::new(BufWriter::new(output.open()?))?;
                waiting.iter().try_for_each(|(process, spans)| chrome.add(*process, spans))?;
                Ok(State::Open(chrome))
            }
            other => Ok(other),
        }
    }
}
