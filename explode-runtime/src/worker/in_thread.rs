//! The worker that runs in the caller's thread: for users of the library, without deadlines.

use std::fmt;

use tracing::info_span;

use super::explore::UnitExplorer;
use super::listener::{UnitListener, WorkerStarted};
use super::memo::Memo;
use super::order::UnitOrder;
use super::unit_result::UnitResult;
use super::workers::{StartError, Workers};
use crate::base::RunError;
use crate::dedup::KnownChecks;
use crate::devices::Backend;
use crate::plan::{Plan, Registry};
use crate::unit::{System, open};
use crate::verdict::{BrokenKind, WorkerDeath};
use crate::worker::probe::{ProbeChannel, run_probe};
use crate::worker::probe::{ProbeOrder, ProbeResult};

/// Runs units in the caller's thread.
pub struct InThreadWorkers<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    backend: &'a dyn Backend,
    working: Option<Working<'a>>,
}

/// A worker that has been started.
struct Working<'a> {
    system: Box<dyn System + 'a>,
    memo: Memo,
}

impl<'a> InThreadWorkers<'a> {
    /// Creates the workers of a plan in a backend. No worker is started yet.
    pub fn new(
        registry: &'a Registry,
        plan: &'a Plan,
        backend: &'a dyn Backend,
    ) -> InThreadWorkers<'a> {
        InThreadWorkers { registry, plan, backend, working: None }
    }

    /// Starts the worker, as [`Workers::start`] does.
    ///
    /// # Errors
    /// Those of [`open`].
    pub fn begin(&mut self, keep_events: bool) -> Result<WorkerStarted, RunError> {
        let _span = info_span!("first_start").entered();
        let mut system = open(self.registry, self.plan, self.backend)?;
        if keep_events {
            system.keep_events();
        }
        let facts = system.facts();
        let unobserved =
            facts.unobserved.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
        let why_every_check_is_made = facts.why_every_check_is_made.map(str::to_owned);
        let unsupported_calls = facts.unsupported_calls.to_vec();
        let started = WorkerStarted {
            origin: facts.origin.clone(),
            unobserved,
            unsupported_calls,
            forecast: facts.forecast.to_vec(),
            why_every_check_is_made,
        };
        let memo = Memo::new(self.plan.settings.crash_depth);
        self.working = Some(Working { system, memo });
        Ok(started)
    }

    /// Adds merged checks to the memo of the worker.
    pub(super) fn add(&mut self, known: &KnownChecks) {
        self.working.iter_mut().for_each(|working| working.memo.learn(known));
    }

    /// Runs a unit.
    ///
    /// # Panics
    /// If the worker is not started.
    pub(super) fn unit(
        &mut self,
        order: &UnitOrder,
        listener: &mut dyn UnitListener,
    ) -> UnitResult {
        let Working { system, memo } = self.working.as_mut().expect(STARTED);
        match self.registry.policies.answers(&order.unit.policy) {
            Ok(answers) => {
                let profile = system.facts().profile;
                UnitExplorer::new(self.plan, profile, memo, order, answers, listener).run(&**system)
            }
            Err(error) => {
                let mut result = UnitResult::default();
                result.add_broken(BrokenKind::Tool.of(error.to_string()));
                result
            }
        }
    }

    /// Runs a probe.
    ///
    /// # Panics
    /// If the worker is not started.
    pub(super) fn probe(&self, order: &ProbeOrder, talk: &mut dyn ProbeChannel) -> ProbeResult {
        let Working { system, .. } = self.working.as_ref().expect(STARTED);
        run_probe(&**system, order, talk)
    }
}

/// The panic message if the caller has not started the worker.
const STARTED: &str = "a worker is started before it runs anything";

impl fmt::Debug for InThreadWorkers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InThread").field("plan", self.plan).finish_non_exhaustive()
    }
}

impl Workers for InThreadWorkers<'_> {
    fn start(&mut self, keep_events: bool) -> Result<WorkerStarted, StartError> {
        self.begin(keep_events).map_err(StartError::Refused)
    }

    fn learn(&mut self, known: &KnownChecks) -> Result<(), WorkerDeath> {
        self.add(known);
        Ok(())
    }

    fn run(
        &mut self,
        order: &UnitOrder,
        listener: &mut dyn UnitListener,
    ) -> Result<UnitResult, WorkerDeath> {
        Ok(self.unit(order, listener))
    }
}
