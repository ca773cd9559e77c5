//! The worker that is this very thread: for users of the library, without deadlines.

use std::fmt;

use tracing::info_span;

use super::crew::{Crew, StartError};
use super::examine::Examiner;
use super::listener::{Listener, Started};
use super::memo::Memo;
use super::order::Order;
use super::unit_result::UnitResult;
use crate::base::RunError;
use crate::dedup::Known;
use crate::devices::Backend;
use crate::plan::{Plan, Registry};
use crate::unit::{System, open};
use crate::verdict::{BrokenKind, Death};
use crate::worker::probe::{Probe, Probed};
use crate::worker::probe::{Talk, run_probe};

/// Runs units in the caller's thread.
pub struct InThread<'a> {
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

impl<'a> InThread<'a> {
    /// For a plan, in a backend.
    pub fn new(registry: &'a Registry, plan: &'a Plan, backend: &'a dyn Backend) -> InThread<'a> {
        InThread { registry, plan, backend, working: None }
    }

    /// As [`Crew::start`].
    ///
    /// # Errors
    /// Those of [`open`].
    pub fn begin(&mut self, keep_events: bool) -> Result<Started, RunError> {
        let _span = info_span!("first_start").entered();
        let mut system = open(self.registry, self.plan, self.backend)?;
        if keep_events {
            system.keep_events();
        }
        let about = system.about();
        let hides = about.hides.iter().map(|(name, what)| format!("{name}: {what}")).collect();
        let not_skipping = about.not_skipping.map(str::to_owned);
        let leaves_out = about.leaves_out.to_vec();
        let started = Started { origin: about.origin.clone(), hides, leaves_out, not_skipping };
        let memo = Memo::new(self.plan.settings.crash_depth);
        self.working = Some(Working { system, memo });
        Ok(started)
    }

    /// These checks are merged.
    pub(super) fn add(&mut self, known: &Known) {
        self.working.iter_mut().for_each(|working| working.memo.know(known));
    }

    /// Runs a unit.
    ///
    /// # Panics
    /// Before it has begun.
    pub(super) fn unit(&mut self, order: &Order, listener: &mut dyn Listener) -> UnitResult {
        let Working { system, memo } = self.working.as_mut().expect(STARTED);
        match self.registry.policies.answers(&order.unit.policy) {
            Ok(answers) => {
                let profile = system.about().profile;
                Examiner::new(self.plan, profile, memo, order, answers, listener).run(&**system)
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
    /// Before it has begun.
    pub(super) fn probe(&self, order: &Probe, talk: &mut dyn Talk) -> Probed {
        let Working { system, .. } = self.working.as_ref().expect(STARTED);
        run_probe(&**system, order, talk)
    }
}

/// The panic message if the caller has not started the worker.
const STARTED: &str = "a worker is started before it runs anything";

impl fmt::Debug for InThread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InThread").field("plan", self.plan).finish_non_exhaustive()
    }
}

impl Crew for InThread<'_> {
    fn start(&mut self, keep_events: bool) -> Result<Started, StartError> {
        self.begin(keep_events).map_err(StartError::Said)
    }

    fn know(&mut self, known: &Known) -> Result<(), Death> {
        self.add(known);
        Ok(())
    }

    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitResult, Death> {
        Ok(self.unit(order, listener))
    }
}
