//! The worker that is this very thread: for users of the library, without deadlines.

use super::examine::Examiner;
use super::keys::Known;
use super::unit_end::UnitEnd;
use super::{Crew, Death, Listener, Order, StartError, Started};
use crate::devices::Lab;
use crate::explain::probe::{Probe, Probed};
use crate::explain::{Talk, run_probe};
use crate::run::error::RunError;
use crate::run::plan::Plan;
use crate::run::registry::Registry;
use crate::run::seen::Checks;
use crate::run::unit::Runner;

/// Runs units in the caller's thread.
#[derive(Debug)]
pub struct InThread<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    lab: &'a Lab,
    working: Option<(Runner<'a>, Checks)>,
}

impl<'a> InThread<'a> {
    /// For a plan, in a lab.
    pub fn new(registry: &'a Registry, plan: &'a Plan, lab: &'a Lab) -> InThread<'a> {
        InThread { registry, plan, lab, working: None }
    }

    /// As [`Crew::start`].
    ///
    /// # Errors
    /// Those of [`Runner::start`].
    pub fn begin(&mut self, known: &Known, keep_events: bool) -> Result<Started, RunError> {
        let mut runner = Runner::start(self.registry, self.plan, self.lab)?;
        if keep_events {
            runner.keep_events();
        }
        let hides = runner.hides().iter().map(|(name, what)| format!("{name}: {what}")).collect();
        let not_skipping = runner.not_skipping().map(str::to_owned);
        let started = Started { origin: runner.origin().clone(), hides, not_skipping };
        self.working = Some((runner, Checks::default()));
        self.know(known);
        Ok(started)
    }

    /// These checks were made, too.
    pub(super) fn know(&mut self, known: &Known) {
        if let Some((_, checks)) = &mut self.working {
            checks.know(known);
        }
    }

    /// Runs a unit.
    ///
    /// # Panics
    /// Before it has begun.
    pub(super) fn unit(&mut self, order: &Order, listener: &mut dyn Listener) -> UnitEnd {
        let (runner, checks) = self.working.as_mut().expect("a worker is started before it runs units");
        Examiner::new(self.plan, runner.profile(), checks, order, listener).run(runner)
    }

    /// Runs a probe.
    ///
    /// # Panics
    /// Before it has begun.
    pub(super) fn probe(&self, order: &Probe, talk: &mut dyn Talk) -> Probed {
        let (runner, _) = self.working.as_ref().expect("a worker is started before it runs probes");
        run_probe(runner, order, talk)
    }
}

impl Crew for InThread<'_> {
    fn start(&mut self, known: &Known, keep_events: bool) -> Result<Started, StartError> {
        self.begin(known, keep_events).map_err(StartError::Said)
    }

    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitEnd, Death> {
        Ok(self.unit(order, listener))
    }
}
