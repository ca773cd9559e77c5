//! The worker that is this very thread: for users of the library, without deadlines.

use super::answers::{Asked, Trail};
use super::crew::{Crew, StartError};
use super::examine::Examiner;
use super::listener::{Listener, Started};
use super::order::Order;
use super::scouted::{Grounds, Scouted};
use super::unit_end::UnitEnd;
use crate::base::RunError;
use crate::dedup::{Checks, Draft, Known};
use crate::devices::Backend;
use crate::plan::{Plan, Registry};
use crate::unit::Runner;
use crate::verdict::Death;
use crate::worker::probe::{Probe, Probed};
use crate::worker::probe::{Talk, run_probe};

/// Runs units in the caller's thread.
#[derive(Debug)]
pub struct InThread<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    backend: &'a dyn Backend,
    working: Option<Working<'a>>,
}

/// A worker that has been started.
#[derive(Debug)]
struct Working<'a> {
    runner: Runner<'a>,
    checks: Checks,
    /// The units that it has run ahead.
    trail: Trail,
}

impl<'a> InThread<'a> {
    /// For a plan, in a backend.
    pub fn new(registry: &'a Registry, plan: &'a Plan, backend: &'a dyn Backend) -> InThread<'a> {
        InThread { registry, plan, backend, working: None }
    }

    /// As [`Crew::start`].
    ///
    /// # Errors
    /// Those of [`Runner::start`].
    pub fn begin(&mut self, keep_events: bool) -> Result<Started, RunError> {
        let mut runner = Runner::start(self.registry, self.plan, self.backend)?;
        if keep_events {
            runner.keep_events();
        }
        let hides = runner.hides().iter().map(|(name, what)| format!("{name}: {what}")).collect();
        let not_skipping = runner.not_skipping().map(str::to_owned);
        let leaves_out = runner.leaves_out().to_vec();
        let started = Started { origin: runner.origin().clone(), hides, leaves_out, not_skipping };
        self.working = Some(Working { runner, checks: Checks::default(), trail: Trail::default() });
        Ok(started)
    }

    /// These checks were made, too.
    pub(super) fn add(&mut self, known: &Known) {
        if let Some(Working { checks, trail, .. }) = &mut self.working {
            checks.know(known);
            trail.counts(known);
        }
    }

    /// Runs a unit.
    ///
    /// # Panics
    /// Before it has begun.
    pub(super) fn unit(&mut self, order: &Order, listener: &mut dyn Listener) -> UnitEnd {
        let Working { runner, checks, .. } = self.working.as_mut().expect(STARTED);
        Examiner::new(self.plan, runner.profile(), checks, order, listener).run(runner)
    }

    /// Runs a probe.
    ///
    /// # Panics
    /// Before it has begun.
    pub(super) fn probe(&self, order: &Probe, talk: &mut dyn Talk) -> Probed {
        let Working { runner, .. } = self.working.as_ref().expect(STARTED);
        run_probe(runner, order, talk)
    }

    /// Runs a unit ahead of its turn.
    ///
    /// # Panics
    /// Before it has begun.
    pub(super) fn unit_ahead(&mut self, order: &Order, listener: &mut dyn Listener) -> Scouted {
        let Working { runner, checks, trail } = self.working.as_mut().expect(STARTED);
        if runner.not_skipping().is_some() {
            let mut draft = Draft::new(checks);
            let (mut end, book) =
                Examiner::new(self.plan, runner.profile(), &mut draft, order, listener).run_with_book(runner);
            end.known = Known::default();
            return Scouted { end, grounds: Grounds::Book(book) };
        }
        if order.apart {
            *trail = Trail::default();
        }
        let mut asked = Asked::new(checks, trail);
        let mut end = Examiner::new(self.plan, runner.profile(), &mut asked, order, listener).run(runner);
        end.known = Known::default();
        Scouted { end, grounds: Grounds::Answers(asked.into_answers()) }
    }

    /// Makes up what a unit that was run ahead comes to now.
    ///
    /// # Panics
    /// Before it has begun.
    pub(super) fn make_up(&mut self, scouted: &Scouted, exact: &[bool]) -> Option<UnitEnd> {
        let Working { checks, .. } = self.working.as_mut().expect(STARTED);
        let crash_depth = self.plan.settings.crash_depth;
        let end = scouted.make_up(&mut Draft::new(checks), crash_depth, exact)?;
        checks.know(&end.known);
        Some(end)
    }
}

/// Why a worker that was not started is nobody's fault but the caller's.
const STARTED: &str = "a worker is started before it runs anything";

impl Crew for InThread<'_> {
    fn start(&mut self, keep_events: bool) -> Result<Started, StartError> {
        self.begin(keep_events).map_err(StartError::Said)
    }

    fn know(&mut self, known: &Known) -> Result<(), Death> {
        self.add(known);
        Ok(())
    }

    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitEnd, Death> {
        Ok(self.unit(order, listener))
    }

    fn run_ahead(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<Scouted, Death> {
        Ok(self.unit_ahead(order, listener))
    }

    fn account(&mut self, scouted: Scouted, exact: Vec<bool>) -> Result<Option<UnitEnd>, Death> {
        Ok(self.make_up(&scouted, &exact))
    }

    fn lasts(&self) -> bool {
        true
    }
}
