//! Workers on the other side of a wire, with deadlines: child processes and guests.
//!
//! The supervisor waits for what a worker says, and now and then looks at what it was about to do.
//! A step that takes longer than the deadline hangs, and its worker is ended. The deadline is
//! looked at so often that a step may take a quarter longer. Time in which others had the processor
//! does not count: a busy machine makes no step hang.
//!
//! | file | what |
//! | --- | --- |
//! | `mod.rs` | workers, one after the other |
//! | `transport.rs` | what a worker runs in |
//! | `worker.rs` | the messages to it, and its messages |
//! | `death.rs` | its deadline, and how it died |

mod death;
mod transport;
mod worker;

use std::time::Duration;

use super::protocol::{FromWorker, ToWorker};
use super::unit_result::UnitResult;
use crate::base::{Mode, RunError};
use crate::dedup::KnownChecks;
use crate::plan::Plan;
use crate::trace::{ReplayResult, Trace};
use crate::verdict::{WorkerDeath, WorkerStep};
use crate::worker::diagnostics::Observer;
use crate::worker::listener::{UnitListener, WorkerStarted};
use crate::worker::order::UnitOrder;
use crate::worker::workers::{StartError, Workers};
use tracing::{debug_span, info_span};
use worker::{IgnoreEvents, Observing, RemoteWorker};

pub use transport::{SpawnTransport, Transport, TransportEnd};

/// A replay whose worker is ended from outside is tried so often.
const TRIES: u32 = 5;
/// So many keys go into one message.
const KEYS: usize = 1 << 16;

/// Workers in other processes or guests.
pub struct RemoteWorkers<'a> {
    plan: &'a Plan,
    spawn: &'a mut SpawnTransport<'a>,
    worker: Option<RemoteWorker<'a>>,
    /// Returns true once the run is cancelled. Workers are then ended at once. Default: never.
    pub cancelled: &'a dyn Fn() -> bool,
    /// Gets the diagnostics of the workers. Default: they are not asked for any.
    pub observer: Option<&'a dyn Observer>,
}

impl<'a> RemoteWorkers<'a> {
    /// Workers for a plan.
    pub fn new(plan: &'a Plan, spawn: &'a mut SpawnTransport<'a>) -> RemoteWorkers<'a> {
        RemoteWorkers { plan, spawn, worker: None, cancelled: &|| false, observer: None }
    }

    /// Replays a trace in a fresh worker. A trace of a step that hangs or ends its worker is
    /// reproduced when that step does.
    ///
    /// # Errors
    /// Those of the replay; the worker cannot be started.
    pub fn replay(&mut self, trace: &Trace) -> Result<ReplayResult, RunError> {
        let mut tries = 1;
        loop {
            match self.replay_once(trace)? {
                Err(death) if death.killed_externally && tries < TRIES => tries += 1,
                Err(death) => return Ok(trace.replay_of(&death)),
                Ok(replay) => return Ok(replay),
            }
        }
    }

    fn replay_once(
        &mut self,
        trace: &Trace,
    ) -> Result<Result<ReplayResult, WorkerDeath>, RunError> {
        let mut worker = match self.start() {
            Err(StartError::Died(death)) if death.killed_externally => return Ok(Err(death)),
            hired => hired.map_err(RunError::from)?,
        };
        let _span = debug_span!("wait").entered();
        let said = worker
            .send(&ToWorker::Replay(Box::new(trace.clone())))
            .and_then(|()| worker.hear(&mut IgnoreEvents));
        match said {
            Ok(FromWorker::Replayed(replay)) => Ok(Ok(replay)),
            Ok(FromWorker::Failed(failed)) => Err(failed.into()),
            Ok(other) => Err(RunError::from(StartError::Died(worker.unexpected_message(&other)))),
            Err(death) => Ok(Err(death)),
        }
    }

    /// Says something to the worker, if there is something to say, and hears what it says next.
    ///
    /// # Errors
    /// The worker is gone, and is to be started again.
    ///
    /// # Panics
    /// Before it was started.
    pub(crate) fn exchange(&mut self, word: Option<&ToWorker>) -> Result<FromWorker, WorkerDeath> {
        let worker = self.worker.as_mut().expect("a worker is started before it is asked");
        word.map_or(Ok(()), |word| worker.send(word)).and_then(|()| worker.hear(&mut IgnoreEvents))
    }

    /// Ends the worker, so that another can be started.
    pub(crate) fn stop(&mut self) {
        self.worker = None;
    }

    fn worker(&mut self) -> &mut RemoteWorker<'a> {
        self.worker.as_mut().expect("a worker is started before it runs units")
    }

    fn start(&mut self) -> Result<RemoteWorker<'a>, StartError> {
        // Its disks and its page are wanted by the next.
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
        // Nothing of the stack's has run yet, whatever has ended it.
        let ready = worker
            .hear(&mut IgnoreEvents)
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
        let started = match worker.hear(&mut IgnoreEvents).map_err(StartError::Died)? {
            FromWorker::Started(started) => started,
            FromWorker::Failed(failed) => return Err(StartError::Refused(failed.into())),
            other => return Err(StartError::Died(worker.unexpected_message(&other))),
        };
        self.worker = Some(worker);
        Ok(started)
    }

    fn learn(&mut self, known: &KnownChecks) -> Result<(), WorkerDeath> {
        known.parts(KEYS).try_for_each(|part| self.worker().send(&ToWorker::Know(part)))
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

    /// EKM serves one process of a machine at a time.
    fn yield_machine(&mut self) -> bool {
        if self.plan.mode == Mode::Here {
            self.worker = None;
        }
        self.plan.mode == Mode::Here
    }
}
