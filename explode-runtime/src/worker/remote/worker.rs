//! The connection to the current worker: the messages to it and from it.

use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::transport::Transport;
use crate::verdict::{WorkerDeath, WorkerStep};
use crate::worker::UnitListener;
use crate::worker::diagnostics::Observer;
use crate::worker::frame::{FrameReader, encode};
use crate::worker::protocol::{FromWorker, ToWorker};

/// The maximal interval between two looks at the page, the listener and the deadline.
const LOOK: Duration = Duration::from_millis(250);

/// The connection to the current worker.
pub(super) struct RemoteWorker<'a> {
    pub body: Box<dyn Transport>,
    reader: FrameReader,
    /// The current step, the time since when it is known, and the number of its announcement.
    pub step: WorkerStep,
    pub since: Instant,
    /// The time for which the worker had been kept from running, at the first and at the last look
    /// in this step.
    pub kept: Option<(Duration, Duration)>,
    count: u64,
    checked: u64,
    pub deadline: Duration,
    stopping: bool,
    cancelled: &'a dyn Fn() -> bool,
    /// The receiver of the diagnostics; `None` if none are requested.
    pub observing: Option<Observing<'a>>,
}

/// The receiver of the diagnostics of a worker.
pub(super) struct Observing<'a> {
    observer: &'a dyn Observer,
    worker: u32,
    /// The time at which the worker's current order was sent, in nanoseconds.
    sent: u64,
}

impl<'a> Observing<'a> {
    /// Gives a new worker its number.
    pub fn new(observer: &'a dyn Observer) -> Observing<'a> {
        Observing { observer, worker: observer.worker_number(), sent: observer.now() }
    }
}

impl<'a> RemoteWorker<'a> {
    /// Creates the connection to a worker that has not sent anything yet.
    pub fn new(
        body: Box<dyn Transport>,
        deadline: Duration,
        is_cancelled: &'a dyn Fn() -> bool,
    ) -> RemoteWorker<'a> {
        RemoteWorker {
            body,
            reader: FrameReader::default(),
            step: WorkerStep::FirstStart,
            since: Instant::now(),
            kept: None,
            count: 0,
            checked: 0,
            deadline,
            stopping: false,
            cancelled: is_cancelled,
            observing: None,
        }
    }
}

impl RemoteWorker<'_> {
    /// Runs a unit in the worker. Returns the first message that is not about its path.
    pub(super) fn run(
        &mut self,
        order: &ToWorker,
        listener: &mut dyn UnitListener,
    ) -> Result<FromWorker, WorkerDeath> {
        self.stopping = false;
        self.body.page().into_iter().for_each(|page| page.set_stop(false));
        self.send(order)?;
        loop {
            match self.receive(listener)? {
                FromWorker::Chose(choice) => listener.chose(&choice),
                FromWorker::NextWalk => listener.next_walk(),
                FromWorker::Snapshot(step, snapshot) => listener.snapshot_before(step, *snapshot),
                other => return Ok(other),
            }
        }
    }

    /// Returns the next message that is not an announcement.
    pub(super) fn receive(
        &mut self,
        listener: &mut dyn UnitListener,
    ) -> Result<FromWorker, WorkerDeath> {
        loop {
            match self.reader.take() {
                Ok(Some(FromWorker::AboutTo(step, checked))) => {
                    self.take_step(self.count + 1, step, checked);
                    self.look_around(listener)?;
                }
                Ok(Some(FromWorker::Observed(at, taken))) => {
                    if let Some(Observing { observer, worker, sent }) = &self.observing {
                        observer.observed(*worker, taken.moved(at, *sent));
                    }
                }
                Ok(Some(message)) => return Ok(message),
                Ok(None) => self.wait(listener)?,
                Err(error) => return Err(self.broken(&error.to_string())),
            }
        }
    }

    /// Waits until bytes have arrived.
    pub(super) fn wait(&mut self, listener: &mut dyn UnitListener) -> Result<(), WorkerDeath> {
        loop {
            let patience = LOOK.min(self.deadline / 4).max(Duration::from_millis(1));
            let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
            let mut fds = [PollFd::new(self.body.reader(), PollFlags::POLLIN)];
            match poll(&mut fds, timeout) {
                Ok(0) | Err(Errno::EINTR) => {
                    self.look_around(listener)?;
                    self.look_at_the_clock()?;
                }
                Ok(_) => match self.reader.fill(self.body.reader()) {
                    Ok(true) => return Ok(()),
                    Ok(false) => return Err(self.died("it has ended")),
                    Err(error) => return Err(self.died(&error.to_string())),
                },
                Err(errno) => return Err(self.broken(errno.desc())),
            }
        }
    }

    /// Passes the worker's step to the listener, and the listener's request to stop to the worker.
    fn look_around(&mut self, listener: &mut dyn UnitListener) -> Result<(), WorkerDeath> {
        self.look_at_the_page();
        listener.next_step(self.step, self.checked);
        if (self.cancelled)() {
            self.body.end(Duration::ZERO);
            return Err(self.died("it was not waited for any more"));
        }
        if !self.stopping && listener.stop() {
            self.stopping = true;
            match self.body.page() {
                Some(page) => page.set_stop(true),
                None => self.send(&ToWorker::Stop)?,
            }
        }
        Ok(())
    }

    pub(super) fn look_at_the_page(&mut self) {
        if let Some(page) = self.body.page() {
            let (count, step, checked) = page.announced();
            if count != self.count {
                self.take_step(count, step, checked);
            }
        }
    }

    fn take_step(&mut self, count: u64, step: WorkerStep, checked: u64) {
        (self.count, self.step, self.checked, self.since) = (count, step, checked, Instant::now());
        self.kept = None;
    }

    pub(super) fn send(&mut self, word: &ToWorker) -> Result<(), WorkerDeath> {
        // A request to stop belongs to the order that the worker carries out already.
        let observing = self.observing.as_mut().filter(|_| *word != ToWorker::Stop);
        observing.into_iter().for_each(|observing| observing.sent = observing.observer.now());
        match self.try_send(word) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.died(&format!("no message can be sent to it: {error}"))),
        }
    }

    fn try_send(&self, word: &ToWorker) -> io::Result<()> {
        let frame = encode(word)?;
        let mut left = &frame[..];
        let mut patience = Instant::now() + self.deadline.max(LOOK);
        while !left.is_empty() {
            match nix::unistd::write(self.body.writer(), left) {
                Ok(written) => {
                    left = &left[written..];
                    patience = Instant::now() + self.deadline.max(LOOK);
                }
                Err(Errno::EAGAIN) if Instant::now() < patience && !(self.cancelled)() => {
                    let mut fds = [PollFd::new(self.body.writer(), PollFlags::POLLOUT)];
                    let timeout = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::MAX);
                    poll(&mut fds, timeout)
                        .or_else(|errno| if errno == Errno::EINTR { Ok(0) } else { Err(errno) })?;
                }
                Err(Errno::EAGAIN) => return Err(io::ErrorKind::TimedOut.into()),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

impl Drop for RemoteWorker<'_> {
    fn drop(&mut self) {
        self.body.end(Duration::ZERO);
    }
}

/// The listener outside of units. It ignores everything.
pub(super) struct IgnoreEvents;

impl UnitListener for IgnoreEvents {
    fn next_step(&mut self, _step: WorkerStep, _checked: u64) {}
    fn stop(&mut self) -> bool {
        false
    }
}
