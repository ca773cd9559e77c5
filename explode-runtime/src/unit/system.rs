//! The interface of a system under test to workers. The standard system is a stack with its
//! checker. Another one can have several hosts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use explode_ramdisk::Image;

use super::hooks::UnitHooks;
use super::runner::Runner;
use super::stop::UnitRun;
use crate::base::{ExactCount, RunError};
use crate::devices::Backend;
use crate::explore::Unit;
use crate::plan::{Plan, Registry, RunOrigin};
use crate::verdict::Profile;

/// A system under test. A run is a pure function of its choices.
pub trait System {
    /// Runs a unit: reaches its state by its script, then makes its mutates.
    ///
    /// The script makes the choice at each point, and `work` past its end. The system calls
    /// [`UnitHooks::reached`] before the first mutate and after each one. It calls
    /// [`UnitHooks::crashes`] for each crash to check, with the stack and the pipeline of the host
    /// that crashes. If hosts differ, the arguments of a check must name its host, because equal
    /// disks with equal arguments are checked once. Nothing else may influence a run: no clock, no
    /// random number, no earlier unit.
    fn run(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun;

    /// Returns the facts of the system.
    fn facts(&self) -> SystemFacts<'_>;

    /// Makes each unit return its events from now on, and run from the pristine disks.
    fn keep_events(&mut self);

    /// Makes the pipeline of each unit record its log from now on. By default nothing is recorded.
    fn record(&mut self) {}

    /// Sets chops after these calls of mutate, in place of those of the plan.
    fn chop_at(&mut self, mutates: &[u32]);
}

/// The facts of a system that has started.
#[derive(Clone, Copy, Debug)]
pub struct SystemFacts<'a> {
    /// The promises of the system. `None` without a profile.
    pub profile: Option<&'a Profile>,
    /// State that the event log does not show: the name of the layer, and a description.
    pub unobserved: &'a [(String, &'static str)],
    /// The calls that the system does not support.
    pub unsupported_calls: &'a [String],
    /// The number of mutates of a complete run on paths of 1, 2, 3 and more mutates, as far as they
    /// were counted.
    pub forecast: &'a [ExactCount],
    /// The reason why every check is made. `None` if verdicts can be reused.
    pub why_every_check_is_made: Option<&'a str>,
    /// The disks on which every run begins.
    pub pristine: &'a Image,
    /// The versions and defaults that the run started with.
    pub origin: &'a RunOrigin,
}

/// A system, or the reason why it cannot be opened.
pub type OpenedSystem<'a> = Result<Box<dyn System + 'a>, RunError>;

/// Opens the system of a plan in a backend.
pub type OpenSystem =
    dyn for<'a> Fn(&'a Registry, &Plan, &'a dyn Backend) -> OpenedSystem<'a> + Send + Sync;

/// Systems other than a stack with its checker, by the names of their checkers. A registry holds
/// them as an [extension](Registry::extensions).
#[derive(Clone, Default)]
pub struct Systems(BTreeMap<String, Arc<OpenSystem>>);

impl Systems {
    /// Registers a system. `open` is called for each plan with this checker.
    pub fn register(
        &mut self,
        checker: &str,
        open: impl for<'a> Fn(
            &'a Registry,
            &Plan,
            &'a dyn Backend,
        ) -> Result<Box<dyn System + 'a>, RunError>
        + Send
        + Sync
        + 'static,
    ) {
        self.0.insert(checker.to_owned(), Arc::new(open));
    }
}

impl fmt::Debug for Systems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Opens the system of a plan: the one registered under the name of its checker, or its stack with
/// its checker.
///
/// # Errors
/// A name or an option is wrong, a component cannot start, or the checker refuses the stack.
pub fn open<'a>(
    registry: &'a Registry,
    plan: &Plan,
    backend: &'a dyn Backend,
) -> Result<Box<dyn System + 'a>, RunError> {
    let systems = registry.extensions.get::<Systems>();
    match systems.and_then(|systems| systems.0.get(&plan.checker)) {
        Some(open) => open(registry, plan, backend),
        None => Ok(Box::new(Runner::start(registry, plan, backend)?)),
    }
}

impl System for Runner<'_> {
    fn run(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun {
        Runner::run(self, unit, work)
    }

    fn facts(&self) -> SystemFacts<'_> {
        SystemFacts {
            profile: self.profile(),
            unobserved: self.unobserved(),
            unsupported_calls: self.unsupported_calls(),
            forecast: self.forecast(),
            why_every_check_is_made: self.why_every_check_is_made(),
            pristine: self.pristine(),
            origin: self.origin(),
        }
    }

    fn keep_events(&mut self) {
        Runner::keep_events(self);
    }

    fn record(&mut self) {
        Runner::record(self);
    }

    fn chop_at(&mut self, mutates: &[u32]) {
        Runner::chop_at(self, mutates);
    }
}
