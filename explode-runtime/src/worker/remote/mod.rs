//! Workers at the other end of a stream, with deadlines: child processes and guests.
//!
//! The supervisor waits for messages from a worker, and at intervals reads the step that the worker
//! has announced. A step that takes longer than the deadline hangs, and its worker is killed. The
//! interval is short enough that a step can exceed the deadline by a quarter at most. Time in which
//! others had the processor does not count, so a busy machine makes no step hang.
//!
//! | file | what |
//! | --- | --- |
//! | `mod.rs` | the workers of a run, one after the other |
//! | `transport.rs` | the process, guest or thread that a worker runs in |
//! | `worker.rs` | the messages to and from a worker |
//! | `death.rs` | the deadline and the death of a worker |

mod death;
mod transport;
mod worker;

use std::time::Duration;

use super::protocol::{FromWorker, ToWorker};
use super::unit_result::UnitResult;
use crate::base::{Mode, RunError};
use crate::dedup::KnownChecks;
use crate::plan::Plan;
use crate::trace::{ReplayResult, ReplaySource, Trace};
use crate::verdict::{WorkerDeath, WorkerStep};
use crate::worker::diagnostics::Observer;
use crate::worker::listener::{UnitListener, WorkerStarted};
use crate::worker::order::UnitOrder;
use crate::worker::workers::{StartError, Workers};
use tracing::{debug_span, info_span};
use worker::{IgnoreEvents, Observing, RemoteWorker};

pub use transport::{SpawnTransport, Transport, TransportEnd};

/// The maximal number of tries of a replay whose worker is killed from outside.
const TRIES: u32 = 5;
/// The maximal number of keys in one message.
const KEYS: usize = 1 << 16;

/// Workers in other processes or guests.
pub struct RemoteWorkers<'a> {
    plan: &'a Plan,
    spawn: &'a mut SpawnTransport<'a>,
    worker: Option<RemoteWorker<'a>>,
    /// Returns true once the run is cancelled. Workers are then killed at once. Default: never.
    pub cancelled: &'a dyn Fn() -> bool,
    /// The receiver of the workers' diagnostics; `None` if no diagnostics are requested. Default:
    /// `None`.
    pub observer: Option<&'a dyn Observer>,
}

impl<'a> RemoteWorkers<'a> {
    /// Creates the workers of a plan. `spawn` starts the process or guest of a worker.
    pub fn new(plan: &'a Plan, spawn: &'a mut SpawnTransport<'a>) -> RemoteWorkers<'a> {
        RemoteWorkers { plan, spawn, worker: None, cancelled: &|| false, observer: None }
    }

    /// Replays a trace in a fresh worker. A trace of a step that hangs or kills its worker is
    /// reproduced if that step does so again.
    ///
    /// # Errors
    /// The replay fails, or no worker can be started.
    pub fn replay(&mut self, trace: &Trace) -> Result<ReplayResult, RunError> {
        self.replay_from(trace, ReplaySource::System)
    }

    /// Replays a trace from a source, as [`replay`](RemoteWorkers::replay) does.
    ///
    /// # Errors
    /// Those of [`replay`](RemoteWorkers::replay), and the trace has no recorded crash.
    pub fn replay_from(
        &mut self,
        trace: &Trace,
        source: ReplaySource,
    ) -> Result<ReplayResult, RunError> {
        let mut tries = 1;
        loop {
            match self.replay_once(trace, source)? {
                Err(death) if death.killed_externally && tries < TRIES => tries += 1,
                Err(death) => return Ok(trace.replay_of(&death)),
                Ok(replay) => return Ok(replay),
            }
        }
    }

    fn replay_once(
        &mut self,
        trace: &Trace,
        source: ReplaySource,
    ) -> Result<Result<ReplayResult, WorkerDeath>, RunError> {
        let mut worker = match self.start() {
            Err(StartError::Died(death)) if death.killed_externally => return Ok(Err(death)),
            hired => hired.map_err(RunError::from)?,
        };
        let _span = debug_span!("wait").entered();
        let message = worker
            .send(&ToWorker::Replay(Box::new(trace.clone()), source))
            .and_then(|()| worker.receive(&mut IgnoreEvents));
        match message {
            Ok(FromWorker::Replayed(replay)) => Ok(Ok(replay)),
            Ok(FromWorker::Failed(failed)) => Err(failed.into()),
            Ok(other) => Err(RunError::from(StartError::Died(worker.unexpected_message(&other)))),
            Err(death) => Ok(Err(death)),
        }
    }

    /// Sends a message to the worker, if there is one, and returns the worker's next message.
    ///
    /// # Errors
    /// The worker is gone and must be started again.
    ///
    /// # Panics
    /// If the worker is not started.
    pub(crate) fn exchange(&mut self, word: Option<&ToWorker>) -> Result<FromWorker, WorkerDeath> {
        let worker = self.worker.as_mut().expect("a worker is started before it is asked");
        word.map_or(Ok(()), |word| worker.send(word))
            .and_then(|()| worker.receive(&mut IgnoreEvents))
    }

    /// Kills the worker, so that another one can be started.
    pub(crate) fn stop(&mut self) {
        self.worker = None;
    }

    fn worker(&mut self) -> &mut RemoteWorker<'a> {
        self.worker.as_mut().expect("a worker is started before it runs units")
    }

    fn start(&mut self) -> Result<RemoteWorker<'a>, StartError> {
        // The next worker needs the disks and the page of this one.
        self.worker = None;
        let _span = info_span!("worker_start", mode = self.plan.mode.as_str()).entered();
        if (self.cancelled)() {
            let message = "it was not waited for any more".to_owned();
            return Err(StartError::Died(WorkerDeath {
                step: WorkerStep::Between,
                verdict: None,
                message,
                killed_externally: false,
            }));
        }
        let body = (self.spawn)().map_err(|error| match error {
            RunError::Broken { message, .. } => StartError::Died(WorkerDeath {
                step: WorkerStep::Between,
                verdict: None,
                message,
                killed_externally: false,
            }),
            other => StartError::Refused(other),
        })?;
        let deadline = Duration::from_millis(self.plan.settings.deadline_ms);
        let mut worker = RemoteWorker::new(body, deadline, self.cancelled);
        worker.observing = self.observer.map(Observing::new);
        // No part of the stack has run yet, so the death belongs to no step.
        let ready = worker
            .receive(&mut IgnoreEvents)
            .map_err(|death| WorkerDeath { step: WorkerStep::Between, ..death });
        match ready.map_err(StartError::Died)? {
            FromWorker::Ready(version) if version == env!("CARGO_PKG_VERSION") => {
                if let Some(observer) = self.observer {
                    let wanted = ToWorker::Observe(observer.wanted());
                    worker.send(&wanted).map_err(StartError::Died)?;
                }
                Ok(worker)
            }
            other => Err(StartError::Died(worker.unexpected_message(&other))),
        }
    }
}

impl Workers for RemoteWorkers<'_> {
    fn start(&mut self, keep_events: bool) -> Result<WorkerStarted, StartError> {
        let mut worker = self.start()?;
        let _span = debug_span!("wait").entered();
        let plan = ToWorker::Start(Box::new(self.plan.clone()), keep_events);
        worker.send(&plan).map_err(StartError::Died)?;
        let started = match worker.receive(&mut IgnoreEvents).map_err(StartError::Died)? {
            FromWorker::Started(started) => started,
            FromWorker::Failed(failed) => return Err(StartError::Refused(failed.into())),
            other => return Err(StartError::Died(worker.unexpected_message(&other))),
        };
        self.worker = Some(worker);
        Ok(started)
    }

    fn learn(&mut self, known: &KnownChecks) -> Result<(), WorkerDeath> {
        known.parts(KEYS).try_for_each(|part| self.worker().send(&ToWorker::Learn(part)))
    }

    fn run(
        &mut self,
        order: &UnitOrder,
        listener: &mut dyn UnitListener,
    ) -> Result<UnitResult, WorkerDeath> {
        let _span = debug_span!("wait").entered();
        match self.worker().run(&ToWorker::Run(Box::new(order.clone())), listener)? {
            FromWorker::End(result) => Ok(*result),
            other => Err(self.worker().unexpected_message(&other)),
        }
    }

    /// Stops the worker of this machine, because EKM serves one process of a machine at a time.
    fn yield_machine(&mut self) -> bool {
        if self.plan.mode == Mode::Here {
            self.worker = None;
        }
        self.plan.mode == Mode::Here
    }
}
