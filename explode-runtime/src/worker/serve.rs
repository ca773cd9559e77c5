//! The worker's side of the connection: carries out orders until the supervisor is gone.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::diagnostics::{Diagnostics, DiagnosticsWanted};
use super::frame::{FrameReader, encode};
use super::in_thread::InThreadWorkers;
use super::listener::UnitListener;
use super::protocol::{FromWorker, ToWorker};
use super::step_page::StepPage;
use super::unit_result::UnitSnapshot;
use crate::base::{Mode, RunError};
use crate::choose::Choice;
use crate::devices::{Backend, Backends};
use crate::plan::{Plan, Registry};
use crate::trace::{ReplaySource, Trace};
use crate::verdict::WorkerStep;
use crate::worker::probe::ProbeChannel;
use crate::worker::probe::{ProbeCommand, ProbeReply};
use crate::worker::replay::replay_from;

/// Serves a supervisor over two streams, which may be one, with the backends of this program. Steps
/// are announced on the page, or on the stream if there is no page. Spans and log lines come from
/// `diagnostics`, if the supervisor requests them.
///
/// No parameter is generic, so this crate has all code that encodes messages. A caller's crate is
/// not optimised in the profile dev, and an emulated guest would spend seconds on a long message.
///
/// # Errors
/// A message cannot be decoded or is not expected, or the stream fails. A closed stream is not an
/// error.
pub fn serve(
    registry: &Registry,
    backends: &dyn Backends,
    input: OwnedFd,
    output: &mut dyn Write,
    page: Option<&StepPage>,
    diagnostics: &dyn Diagnostics,
) -> io::Result<()> {
    let reader = FrameReader::default();
    let observing = Observing { diagnostics, wanted: false, since: 0 };
    let wire = SupervisorLink { input, reader, output, page, observing, stop: false, failed: None };
    Server { registry, backends, wire, backend: None }.serve()
}

struct Server<'a> {
    registry: &'a Registry,
    backends: &'a dyn Backends,
    wire: SupervisorLink<'a>,
    /// The backend of all orders. EKM serves one user at a time, and existing disks are used again.
    backend: Option<Rc<dyn Backend>>,
}

impl Server<'_> {
    fn serve(&mut self) -> io::Result<()> {
        self.wire.send(&FromWorker::Ready(env!("CARGO_PKG_VERSION").to_owned()))?;
        let mut next = self.wire.receive()?;
        while let Some(order) = next {
            next = match order {
                ToWorker::Observe(wanted) => {
                    self.wire.observing.begin(&wanted);
                    self.wire.receive()?
                }
                ToWorker::Start(plan, keep_events) => self.work(&plan, keep_events)?,
                ToWorker::Replay(trace, source) => {
                    let message = self
                        .replay(&trace, source)
                        .unwrap_or_else(|error| FromWorker::Failed(error.into()));
                    self.wire.check()?;
                    self.wire.end(&message)?;
                    self.wire.receive()?
                }
                other => return Err(unexpected_message(&other)),
            };
        }
        Ok(())
    }

    fn replay(&mut self, trace: &Trace, source: ReplaySource) -> Result<FromWorker, RunError> {
        let backend = self.backend(trace.mode)?;
        self.wire.next_step(WorkerStep::FirstStart, 0);
        let mut on_step = |step| self.wire.next_step(step, 0);
        let result = replay_from(self.registry, (trace, source), &*backend, &mut on_step);
        result.map(FromWorker::Replayed)
    }

    /// Runs units of a plan. Returns the first message that is not about the plan.
    fn work(&mut self, plan: &Plan, keep_events: bool) -> io::Result<Option<ToWorker>> {
        let registry = self.registry;
        let backend = match self.backend(plan.mode) {
            Ok(backend) => backend,
            Err(error) => {
                self.wire.send(&FromWorker::Failed(error.into()))?;
                return self.wire.receive();
            }
        };
        let mut thread = InThreadWorkers::new(registry, plan, &*backend);
        self.wire.next_step(WorkerStep::FirstStart, 0);
        let started = thread.begin(keep_events);
        self.wire.next_step(WorkerStep::Between, 0);
        let begun = started.is_ok();
        self.wire.end(
            &started.map_or_else(|error| FromWorker::Failed(error.into()), FromWorker::Started),
        )?;
        loop {
            match self.wire.receive()? {
                Some(ToWorker::Learn(known)) if begun => thread.add(&known),
                Some(ToWorker::Run(order)) if begun => {
                    self.unit(|wire| FromWorker::End(Box::new(thread.unit(&order, wire))))?;
                }
                Some(ToWorker::Probe(order)) if begun => {
                    let probed = thread.probe(&order, &mut self.wire);
                    self.wire.check()?;
                    self.wire.end(&FromWorker::Probe(Box::new(ProbeReply::Ended(probed))))?;
                }
                // The message arrived after the unit had ended.
                Some(ToWorker::Stop) => {}
                other => return Ok(other),
            }
        }
    }

    fn unit(&mut self, run: impl FnOnce(&mut dyn UnitListener) -> FromWorker) -> io::Result<()> {
        self.wire.stop = false;
        let message = run(&mut self.wire);
        self.wire.check()?;
        self.wire.end(&message)
    }

    fn backend(&mut self, mode: Mode) -> Result<Rc<dyn Backend>, RunError> {
        let backend = self.backend.take().map_or_else(|| self.backends.open(mode), Ok)?;
        Ok(Rc::clone(self.backend.insert(backend)))
    }
}

/// The diagnostics of this process, and whether the supervisor wants them.
struct Observing<'a> {
    diagnostics: &'a dyn Diagnostics,
    wanted: bool,
    /// The time at which the last message arrived, in nanoseconds.
    since: u64,
}

impl Observing<'_> {
    fn begin(&mut self, wanted: &DiagnosticsWanted) {
        self.diagnostics.begin(wanted);
        self.wanted = true;
    }

    /// Notes that a message has arrived.
    fn arrived(&mut self) {
        if self.wanted {
            self.since = self.diagnostics.now();
        }
    }

    /// Returns the diagnostics to send; `None` if there is nothing to send.
    fn take(&self, all: bool) -> Option<FromWorker> {
        let taken = self.wanted.then(|| self.diagnostics.take(all)).flatten();
        taken.map(|taken| FromWorker::Observed(self.since, Box::new(taken)))
    }
}

/// The connection to the supervisor. It is the listener of a unit.
struct SupervisorLink<'a> {
    input: OwnedFd,
    reader: FrameReader,
    output: &'a mut dyn Write,
    page: Option<&'a StepPage>,
    observing: Observing<'a>,
    stop: bool,
    /// The error that ended the connection. The unit is then stopped.
    failed: Option<io::Error>,
}

impl SupervisorLink<'_> {
    fn send(&mut self, message: &FromWorker) -> io::Result<()> {
        self.output.write_all(&encode(message)?)?;
        self.output.flush()
    }

    /// Sends the result of an order, after the diagnostics of the order.
    fn end(&mut self, message: &FromWorker) -> io::Result<()> {
        let observed = self.observing.take(true);
        observed.map_or(Ok(()), |observed| self.send(&observed))?;
        self.send(message)
    }

    /// Returns the next message; `None` when the supervisor is gone.
    fn receive(&mut self) -> io::Result<Option<ToWorker>> {
        loop {
            if let Some(word) = self.reader.take()? {
                self.observing.arrived();
                return Ok(Some(word));
            }
            if !self.reader.fill(self.input.as_fd())? {
                return Ok(None);
            }
        }
    }

    /// Sends a message while a unit runs.
    fn notify(&mut self, message: &FromWorker) {
        if self.failed.is_none() {
            self.failed = self.send(message).err();
        }
    }

    /// Sends a message while a unit runs, and waits for a message that `answer` accepts.
    fn request<T>(
        &mut self,
        message: &FromWorker,
        answer: impl Fn(&ToWorker) -> Option<T>,
    ) -> Option<T> {
        self.notify(message);
        while self.failed.is_none() {
            let word = self
                .receive()
                .and_then(|word| word.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()));
            match word {
                Ok(ToWorker::Stop) => self.stop = true,
                Ok(word) => match answer(&word) {
                    Some(answer) => return Some(answer),
                    None => self.failed = Some(unexpected_message(&word)),
                },
                Err(error) => self.failed = Some(error),
            }
        }
        None
    }

    /// Returns the error that ended the connection, if it has ended.
    fn check(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Receives messages that have arrived already. Without an open request they can only be to
    /// stop.
    fn glance(&mut self) -> io::Result<()> {
        let mut fds = [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::ZERO)? > 0 && !self.reader.fill(self.input.as_fd())? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while let Some(word) = self.reader.take()? {
            match word {
                ToWorker::Stop => self.stop = true,
                other => return Err(unexpected_message(&other)),
            }
        }
        Ok(())
    }
}

impl UnitListener for SupervisorLink<'_> {
    fn next_walk(&mut self) {
        self.notify(&FromWorker::NextWalk);
    }

    fn chose(&mut self, choice: &Choice) {
        self.notify(&FromWorker::Chose(choice.clone()));
    }

    fn next_step(&mut self, step: WorkerStep, checked: u64) {
        if let Some(observed) = self.observing.take(false) {
            self.notify(&observed);
        }
        match self.page {
            Some(page) => page.announce(step, checked),
            None => self.notify(&FromWorker::AboutTo(step, checked)),
        }
    }

    fn snapshot_before(&mut self, step: WorkerStep, snapshot: UnitSnapshot) {
        self.notify(&FromWorker::Snapshot(step, Box::new(snapshot)));
    }

    fn stop(&mut self) -> bool {
        match self.page {
            Some(page) => self.stop |= page.stop(),
            None => self.failed = self.failed.take().or_else(|| self.glance().err()),
        }
        self.stop || self.failed.is_some()
    }
}

impl ProbeChannel for SupervisorLink<'_> {
    fn before(&mut self, step: WorkerStep) {
        UnitListener::next_step(self, step, 0);
    }

    fn report(&mut self, reply: ProbeReply) {
        SupervisorLink::notify(self, &FromWorker::Probe(Box::new(reply)));
    }

    fn next(&mut self, reply: ProbeReply) -> ProbeCommand {
        let next =
            SupervisorLink::request(self, &FromWorker::Probe(Box::new(reply)), |word| match word {
                ToWorker::Next(next) => Some(next.clone()),
                _ => None,
            });
        next.unwrap_or(ProbeCommand::Enough)
    }
}

fn unexpected_message(word: &ToWorker) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the supervisor sent an unexpected message: {word:?}"),
    )
}
