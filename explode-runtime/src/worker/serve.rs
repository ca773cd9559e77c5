//! The worker's side of the wire: it carries out orders until the supervisor is gone.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::diagnostics::{Diagnostics, Wanted};
use super::frame::{FrameReader, encode};
use super::in_thread::InThread;
use super::listener::Listener;
use super::page::Page;
use super::unit_result::Snapshot;
use super::wire::{Said, ToWorker};
use crate::base::{Mode, RunError};
use crate::choose::Choice;
use crate::devices::{Backend, Backends};
use crate::plan::{Plan, Registry};
use crate::trace::Trace;
use crate::verdict::Step;
use crate::worker::probe::Talk;
use crate::worker::probe::{Next, ProbeSaid};
use crate::worker::replay::replay_heard;

/// Serves a supervisor on two streams, which may be one, on the backends of this program. Steps are
/// announced on the page, or on the stream if there is none. Spans and lines of log come from
/// `diagnostics`, if the supervisor asks for them.
///
/// # Errors
/// A message cannot be decoded or is not expected, or the stream fails. A closed stream is not an
/// error.
pub fn serve(
    registry: &Registry,
    backends: &dyn Backends,
    input: OwnedFd,
    output: impl Write,
    page: Option<&Page>,
    diagnostics: &dyn Diagnostics,
) -> io::Result<()> {
    let reader = FrameReader::default();
    let observing = Observing { diagnostics, wanted: false, since: 0 };
    let wire = Wire { input, reader, output, page, observing, stop: false, failed: None };
    Serving { registry, backends, wire, backend: None }.serve()
}

struct Serving<'a, W> {
    registry: &'a Registry,
    backends: &'a dyn Backends,
    wire: Wire<'a, W>,
    /// One for all: EKM serves one user at a time, and disks that are there need not be made again.
    backend: Option<Rc<dyn Backend>>,
}

impl<W: Write> Serving<'_, W> {
    fn serve(&mut self) -> io::Result<()> {
        self.wire.say(&Said::Ready(env!("CARGO_PKG_VERSION").to_owned()))?;
        let mut next = self.wire.hear()?;
        while let Some(order) = next {
            next = match order {
                ToWorker::Observe(wanted) => {
                    self.wire.observing.begin(&wanted);
                    self.wire.hear()?
                }
                ToWorker::Start(plan, keep_events) => self.work(&plan, keep_events)?,
                ToWorker::Replay(trace) => {
                    let said =
                        self.replay(&trace).unwrap_or_else(|error| Said::Failed(error.into()));
                    self.wire.check()?;
                    self.wire.end(&said)?;
                    self.wire.hear()?
                }
                other => return Err(nonsense(&other)),
            };
        }
        Ok(())
    }

    fn replay(&mut self, trace: &Trace) -> Result<Said, RunError> {
        let backend = self.backend(trace.mode)?;
        self.wire.about_to(Step::FirstStart, 0);
        let mut hear = |step| self.wire.about_to(step, 0);
        replay_heard(self.registry, trace, &*backend, &mut hear).map(Said::Replayed)
    }

    /// Runs units of a plan; returns the first word that is not about it.
    fn work(&mut self, plan: &Plan, keep_events: bool) -> io::Result<Option<ToWorker>> {
        let registry = self.registry;
        let backend = match self.backend(plan.mode) {
            Ok(backend) => backend,
            Err(error) => {
                self.wire.say(&Said::Failed(error.into()))?;
                return self.wire.hear();
            }
        };
        let mut thread = InThread::new(registry, plan, &*backend);
        self.wire.about_to(Step::FirstStart, 0);
        let started = thread.begin(keep_events);
        self.wire.about_to(Step::Between, 0);
        let begun = started.is_ok();
        self.wire.end(&started.map_or_else(|error| Said::Failed(error.into()), Said::Started))?;
        loop {
            match self.wire.hear()? {
                Some(ToWorker::Know(known)) if begun => thread.add(&known),
                Some(ToWorker::Run(order)) if begun => {
                    self.unit(|wire| Said::End(Box::new(thread.unit(&order, wire))))?;
                }
                Some(ToWorker::Probe(order)) if begun => {
                    let probed = thread.probe(&order, &mut self.wire);
                    self.wire.check()?;
                    self.wire.end(&Said::Probe(Box::new(ProbeSaid::Ended(probed))))?;
                }
                // It came when the unit had ended already.
                Some(ToWorker::Stop) => {}
                other => return Ok(other),
            }
        }
    }

    fn unit(&mut self, run: impl FnOnce(&mut dyn Listener) -> Said) -> io::Result<()> {
        self.wire.stop = false;
        let said = run(&mut self.wire);
        self.wire.check()?;
        self.wire.end(&said)
    }

    fn backend(&mut self, mode: Mode) -> Result<Rc<dyn Backend>, RunError> {
        let backend = self.backend.take().map_or_else(|| self.backends.open(mode), Ok)?;
        Ok(Rc::clone(self.backend.insert(backend)))
    }
}

/// The diagnostics, and whether they are wanted.
struct Observing<'a> {
    diagnostics: &'a dyn Diagnostics,
    wanted: bool,
    /// When the last word was heard.
    since: u64,
}

impl Observing<'_> {
    fn begin(&mut self, wanted: &Wanted) {
        self.diagnostics.begin(wanted);
        self.wanted = true;
    }

    /// A word was heard.
    fn heard(&mut self) {
        if self.wanted {
            self.since = self.diagnostics.now();
        }
    }

    /// What is to be sent, if anything.
    fn take(&self, all: bool) -> Option<Said> {
        let taken = self.wanted.then(|| self.diagnostics.take(all)).flatten();
        taken.map(|taken| Said::Observed(self.since, Box::new(taken)))
    }
}

/// The supervisor, as the listener of a unit.
struct Wire<'a, W> {
    input: OwnedFd,
    reader: FrameReader,
    output: W,
    page: Option<&'a Page>,
    observing: Observing<'a>,
    stop: bool,
    /// Why nothing can be said any more; the unit is stopped.
    failed: Option<io::Error>,
}

impl<W: Write> Wire<'_, W> {
    fn say(&mut self, said: &Said) -> io::Result<()> {
        self.output.write_all(&encode(said)?)?;
        self.output.flush()
    }

    /// Says how an order has ended, after the diagnostics of it.
    fn end(&mut self, said: &Said) -> io::Result<()> {
        let observed = self.observing.take(true);
        observed.map_or(Ok(()), |observed| self.say(&observed))?;
        self.say(said)
    }

    /// The next word; none when the supervisor is gone.
    fn hear(&mut self) -> io::Result<Option<ToWorker>> {
        loop {
            if let Some(word) = self.reader.take()? {
                self.observing.heard();
                return Ok(Some(word));
            }
            if !self.reader.fill(self.input.as_fd())? {
                return Ok(None);
            }
        }
    }

    /// Says something while a unit runs.
    fn tell(&mut self, said: &Said) {
        if self.failed.is_none() {
            self.failed = self.say(said).err();
        }
    }

    /// Says something while a unit runs, and hears what `answer` takes of the words that come.
    fn ask<T>(&mut self, said: &Said, answer: impl Fn(&ToWorker) -> Option<T>) -> Option<T> {
        self.tell(said);
        while self.failed.is_none() {
            let word = self
                .hear()
                .and_then(|word| word.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()));
            match word {
                Ok(ToWorker::Stop) => self.stop = true,
                Ok(word) => match answer(&word) {
                    Some(answer) => return Some(answer),
                    None => self.failed = Some(nonsense(&word)),
                },
                Err(error) => self.failed = Some(error),
            }
        }
        None
    }

    /// Could everything be said?
    fn check(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Takes a word that is there already; while no question is open it can only be to stop.
    fn glance(&mut self) -> io::Result<()> {
        let mut fds = [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::ZERO)? > 0 && !self.reader.fill(self.input.as_fd())? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while let Some(word) = self.reader.take()? {
            match word {
                ToWorker::Stop => self.stop = true,
                other => return Err(nonsense(&other)),
            }
        }
        Ok(())
    }
}

impl<W: Write> Listener for Wire<'_, W> {
    fn chose(&mut self, choice: &Choice) {
        self.tell(&Said::Chose(choice.clone()));
    }

    fn about_to(&mut self, step: Step, checked: u64) {
        if let Some(observed) = self.observing.take(false) {
            self.tell(&observed);
        }
        match self.page {
            Some(page) => page.announce(step, checked),
            None => self.tell(&Said::AboutTo(step, checked)),
        }
    }

    fn wary(&mut self, step: Step, snapshot: Snapshot) {
        self.tell(&Said::Wary(step, Box::new(snapshot)));
    }

    fn stop(&mut self) -> bool {
        match self.page {
            Some(page) => self.stop |= page.stop(),
            None => self.failed = self.failed.take().or_else(|| self.glance().err()),
        }
        self.stop || self.failed.is_some()
    }
}

impl<W: Write> Talk for Wire<'_, W> {
    fn before(&mut self, step: Step) {
        Listener::about_to(self, step, 0);
    }

    fn report(&mut self, said: ProbeSaid) {
        Wire::tell(self, &Said::Probe(Box::new(said)));
    }

    fn next(&mut self, said: ProbeSaid) -> Next {
        let next = Wire::ask(self, &Said::Probe(Box::new(said)), |word| match word {
            ToWorker::Next(next) => Some(next.clone()),
            _ => None,
        });
        next.unwrap_or(Next::Enough)
    }
}

fn nonsense(word: &ToWorker) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the supervisor says {word:?}, which fits nothing"),
    )
}
