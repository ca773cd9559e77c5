//! The sink of a run. Every message goes to the listener and to the run folder. Traces are kept and
//! confirmed.

use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use explode_ramdisk::Event;
use tracing::info_span;

use super::folder::{FolderLock, RunFolder};
use crate::base::{Output, RunError, Writing};
use crate::plan::Plan;
use crate::report::{Finding, Message, RunInfo};
use crate::run::confirm::{Confirmation, ReplayCheck};
use crate::trace::{Secret, Tagged, Trace};
use crate::worker::WorkerStarted;

/// Receives the messages of a run and keeps its findings: in this process ([`LocalSink`]), or at
/// the other end of a stream.
pub trait RunSink {
    /// Begins the run and returns its folder.
    ///
    /// # Errors
    /// The folder cannot be made, or is not empty.
    fn open(&mut self, target: &str) -> Result<PathBuf, RunError>;

    /// Receives a message.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn emit(&mut self, message: &Message) -> Result<(), RunError>;

    /// Keeps the trace of a finding and returns its path.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn keep(&mut self, id: &str, trace: &Trace) -> Result<PathBuf, RunError>;

    /// Replays a kept trace, in as fresh a process as there is.
    fn confirm(&mut self, trace: &Path) -> Confirmation;

    /// Returns true if the sink wants the events of each unit.
    fn wants_events(&self) -> bool {
        false
    }

    /// Receives the events of a unit, from the pristine disks on.
    ///
    /// # Errors
    /// The events cannot be written.
    fn events(&mut self, _events: &[Event]) -> Result<(), RunError> {
        Ok(())
    }
}

/// The sink of a run in this process: a folder, a receiver of the messages, and a function that
/// replays a trace.
pub struct LocalSink<'a> {
    out: Option<&'a Path>,
    /// The locked folder of an earlier process, until it is opened.
    claim: Option<FolderLock>,
    folder: Option<RunFolder>,
    /// The file for events, as the user names it, until the run folder is open.
    events: Option<(PathBuf, Output)>,
    wants_events: bool,
    /// The open file for events. Made from `events` when the run folder is open.
    event_file: Option<EventFile>,
    confirm: ReplayCheck<'a>,
    sink: &'a mut dyn FnMut(&Message),
    /// The secret that tags traces with commands.
    secret: Option<&'a Secret>,
    /// The tag of a new folder; `None` without commands.
    tag: Option<String>,
}

impl<'a> LocalSink<'a> {
    /// Creates a sink. Without `out` the folder is the first free `explode-runs/<target>-<n>`.
    pub fn new(
        out: Option<&'a Path>,
        confirm: ReplayCheck<'a>,
        sink: &'a mut dyn FnMut(&Message),
    ) -> LocalSink<'a> {
        LocalSink {
            out,
            claim: None,
            folder: None,
            events: None,
            wants_events: false,
            event_file: None,
            confirm,
            sink,
            secret: None,
            tag: None,
        }
    }

    /// Creates a sink that adds messages and traces to an existing folder.
    pub fn resuming(
        claim: FolderLock,
        confirm: ReplayCheck<'a>,
        sink: &'a mut dyn FnMut(&Message),
    ) -> LocalSink<'a> {
        LocalSink { claim: Some(claim), ..LocalSink::new(None, confirm, sink) }
    }

    /// Tags the files of a run of this plan with the secret: the folder if it is new, and each
    /// trace. Without commands nothing is tagged.
    pub fn tag_with(&mut self, secret: &'a Secret, plan: &Plan) {
        if !plan.commands().is_empty() {
            self.secret = Some(secret);
            self.tag = Some(secret.tag(Tagged::Run, plan));
        }
    }

    /// Writes the events of each unit to a file, as JSON lines. A mark `unit <n>` precedes the
    /// events of the n-th unit. The file is opened after the run folder. `path` is its name in
    /// errors.
    pub fn write_events(&mut self, path: &Path, output: Output) {
        self.events = Some((path.to_owned(), output));
        self.wants_events = true;
    }

    /// Closes the file of the events. From now on a plain file has its name and is durable.
    ///
    /// # Errors
    /// The events cannot be written.
    pub fn finish_events(&mut self) -> Result<(), RunError> {
        self.event_file.take().map_or(Ok(()), EventFile::finish)
    }

    /// Returns the run folder; `None` before it is open.
    pub fn path(&self) -> Option<&Path> {
        self.folder.as_ref().map(RunFolder::path)
    }

    fn folder(&mut self) -> &mut RunFolder {
        self.folder.as_mut().expect("a run opens its folder first")
    }
}

impl RunSink for LocalSink<'_> {
    fn open(&mut self, target: &str) -> Result<PathBuf, RunError> {
        let folder = match self.claim.take() {
            Some(claim) => RunFolder::reopen(claim)?,
            None => {
                let folder = RunFolder::create(self.out, target)?;
                self.tag.iter().try_for_each(|tag| folder.write_tag(tag))?;
                folder
            }
        };
        let folder = self.folder.insert(folder);
        self.event_file =
            self.events.take().map(|(path, output)| EventFile::create(path, output)).transpose()?;
        Ok(folder.path().to_owned())
    }

    /// Passes the message to the receiver first, so that it is reported even if it cannot be
    /// written.
    fn emit(&mut self, message: &Message) -> Result<(), RunError> {
        // A resumed run may have another path for its folder than the process of this finding.
        let message = match message {
            Message::Finding(finding) => {
                let trace = self.folder().trace_path(&finding.id).display().to_string();
                &Message::Finding(Finding { trace, ..finding.clone() })
            }
            message => message,
        };
        (self.sink)(message);
        self.folder().append(message)
    }

    fn keep(&mut self, id: &str, trace: &Trace) -> Result<PathBuf, RunError> {
        let tagged = self.secret.map(|secret| trace.clone().tagged(Some(secret)));
        self.folder().write_trace(id, tagged.as_ref().unwrap_or(trace))
    }

    fn confirm(&mut self, trace: &Path) -> Confirmation {
        info_span!("confirm").in_scope(|| (self.confirm)(trace))
    }

    fn wants_events(&self) -> bool {
        self.wants_events
    }

    fn events(&mut self, events: &[Event]) -> Result<(), RunError> {
        let written = self.event_file.as_mut().map_or(Ok(()), |file| file.write(events));
        if written.is_err() {
            // Torn contents must not replace a file.
            self.event_file = None;
        }
        written
    }
}

/// The file for the events of a run.
struct EventFile {
    path: PathBuf,
    file: BufWriter<Writing>,
    units: u64,
}

impl EventFile {
    fn create(path: PathBuf, output: Output) -> Result<EventFile, RunError> {
        match output.open() {
            Ok(file) => Ok(EventFile { path, file: BufWriter::new(file), units: 0 }),
            Err(error) => Err(unwritable(&path, error)),
        }
    }

    fn finish(self) -> Result<(), RunError> {
        let EventFile { path, file, units: _ } = self;
        let written =
            file.into_inner().map_err(io::IntoInnerError::into_error).and_then(Writing::commit);
        written.map_err(|error| unwritable(&path, error))
    }

    fn write(&mut self, events: &[Event]) -> Result<(), RunError> {
        self.units += 1;
        let mark = Event::Mark { name: format!("unit {}", self.units) };
        let written = std::iter::once(&mark).chain(events).try_for_each(|event| {
            serde_json::to_writer(&mut self.file, event)?;
            self.file.write_all(b"\n")
        });
        written.and_then(|()| self.file.flush()).map_err(|error| unwritable(&self.path, error))
    }
}

fn unwritable(path: &Path, error: io::Error) -> RunError {
    RunError::unwritable(path, error, "make room there, or name another file with --events")
}

/// Returns the first message, which has everything that decides the run.
pub(super) fn run_info(plan: &Plan, started: &WorkerStarted, out: &Path) -> RunInfo {
    RunInfo {
        target: plan.target.clone(),
        mode: plan.mode,
        seed: plan.settings.seed,
        stack: started.origin.stack.clone(),
        checker: plan.checker.clone(),
        checker_options: plan.checker_options.clone(),
        checker_defaults: started.origin.checker_defaults.clone(),
        options: plan.settings.clone(),
        versions: started.origin.versions.clone(),
        unobserved: started.unobserved.clone(),
        unsupported_calls: started.unsupported_calls.clone(),
        forecast: started.forecast.clone(),
        hides: started.unobserved.clone(),
        leaves_out: started.unsupported_calls.clone(),
        skipping: started.why_every_check_is_made.is_none(),
        not_skipping: started.why_every_check_is_made.clone(),
        out: out.display().to_string(),
    }
}
