//! Workers in threads of this process: for tests in programs that are not explode and cannot start
//! it as a child process.
//!
//! A thread cannot be killed from outside. A thread that hangs is left behind and runs until the
//! process ends.

use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::diagnostics::NoDiagnostics;
use super::remote::{Transport, TransportEnd};
use super::serve::serve;
use super::step_page::StepPage;
use crate::base::{RunError, panic_words};
use crate::devices::InProcess;
use crate::plan::Registry;
use crate::verdict::BrokenKind;

/// The minimal time to wait for a thread after its stream has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Starts a worker in a new thread.
///
/// # Errors
/// No thread or file can be created.
pub fn spawn_thread(registry: &Registry) -> Result<Box<dyn Transport>, RunError> {
    let started = move || -> io::Result<OwnThread> {
        let (ours, its) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let file = tempfile::tempfile()?;
        let page = StepPage::create(&file)?;
        let registry = registry.clone();
        let work = move || serve_on(&registry, its, &file);
        let thread = thread::Builder::new().name("explode worker".to_owned()).spawn(work)?;
        Ok(OwnThread { stream: ours, page, thread: Some(thread), ended: None })
    };
    let failed =
        |error| BrokenKind::Worker.of(format_args!("no worker thread could be started: {error}"));
    Ok(Box::new(started().map_err(failed)?))
}

fn serve_on(registry: &Registry, mut stream: UnixStream, page: &File) -> io::Result<()> {
    let page = StepPage::map(page)?;
    let input = OwnedFd::from(stream.try_clone()?);
    serve(registry, &InProcess, input, &mut stream, Some(&page), &NoDiagnostics)
}

/// The thread of a worker, as the supervisor sees it.
struct OwnThread {
    stream: UnixStream,
    page: StepPage,
    thread: Option<JoinHandle<io::Result<()>>>,
    ended: Option<TransportEnd>,
}

impl OwnThread {
    /// Ends the stream, waits for the thread for at most `patience`, and returns how it ended.
    fn finish(&mut self, patience: Duration) -> String {
        // The thread may have closed its side already.
        self.stream.shutdown(Shutdown::Both).ok();
        let end = Instant::now() + patience;
        let Some(thread) = self.thread.take() else { return String::new() };
        while !thread.is_finished() {
            if Instant::now() >= end {
                return "the thread continues".to_owned();
            }
            thread::sleep(Duration::from_micros(100));
        }
        match thread.join() {
            Ok(Ok(())) => "the thread has ended".to_owned(),
            Ok(Err(error)) => format!("the thread has ended: {error}"),
            Err(payload) => format!("the thread has panicked: {}", panic_words(payload.as_ref())),
        }
    }
}

impl Transport for OwnThread {
    fn reader(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn writer(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn page(&self) -> Option<&StepPage> {
        Some(&self.page)
    }

    /// Returns zero. The waiting time of a thread is not measured.
    fn kept_waiting(&self) -> Duration {
        Duration::ZERO
    }

    fn end(&mut self, patience: Duration) -> TransportEnd {
        if self.ended.is_none() {
            let message = self.finish(patience.max(LAST_WORDS));
            self.ended = Some(TransportEnd { verdict: None, message, killed_externally: false });
        }
        self.ended.clone().expect("it was just set")
    }
}
