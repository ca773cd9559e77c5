//! A system under test, as workers see it. A stack with its checker is the first; a world of
//! several hosts is another.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use explode_ramdisk::Image;

use super::hooks::UnitHooks;
use super::runner::Runner;
use super::stop::UnitRun;
use crate::base::RunError;
use crate::devices::Backend;
use crate::explore::Unit;
use crate::plan::{Plan, Registry, RunOrigin};
use crate::verdict::Profile;

/// A system under test. A run of it is a pure function of the answers to its choices.
pub trait System {
    /// Runs a unit: goes to its state by its script, then makes its mutates.
    ///
    /// Every point is answered by the script, and past its end by `work`. After each mutate, and
    /// before the first one, it calls [`UnitHooks::reached`]; wherever a crash is to be looked at
    /// [`UnitHooks::crashes`], with the stack and the pipeline of the host that crashes. Where
    /// hosts differ, the arguments of a check name its host: equal disks with equal arguments are
    /// checked once. Nothing else may decide what it does: no clock, no random number, no earlier
    /// unit.
    fn run(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun;

    /// What is known of it.
    fn about(&self) -> SystemFacts<'_>;

    /// From now on units end with their events, and each is run from the pristine disks on.
    fn keep_events(&mut self);

    /// From now on there are chops after these calls of mutate, whatever the plan says.
    fn chop_at(&mut self, mutates: &[u32]);
}

/// What is known of a system once it has started.
#[derive(Clone, Copy, Debug)]
pub struct SystemFacts<'a> {
    /// What it promises.
    pub profile: Option<&'a Profile>,
    /// State that the event log does not show: the layer, and what it is.
    pub unobserved: &'a [(String, &'static str)],
    /// The calls that it does not have.
    pub unsupported_calls: &'a [String],
    /// Why every check has to be made; none if one can stand for another.
    pub why_every_check_is_made: Option<&'a str>,
    /// The disks that every run begins with.
    pub pristine: &'a Image,
    /// What a run begins with.
    pub origin: &'a RunOrigin,
}

/// A system, or why it cannot be opened.
pub type OpenedSystem<'a> = Result<Box<dyn System + 'a>, RunError>;

/// Opens the system of a plan in a backend.
pub type OpenSystem =
    dyn for<'a> Fn(&'a Registry, &Plan, &'a dyn Backend) -> OpenedSystem<'a> + Send + Sync;

/// Systems that are more than a stack with its checker, by the names of their checkers. A registry
/// holds them as an [extension](Registry::extensions).
#[derive(Clone, Default)]
pub struct Systems(BTreeMap<String, Arc<OpenSystem>>);

impl Systems {
    /// Registers a system: a plan with this checker is run by what `open` returns.
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

/// Starts the system of a plan: the one that is registered under the name of its checker, or its
/// stack with its checker.
///
/// # Errors
/// Wrong names and options, or a component that cannot start.
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

    fn about(&self) -> SystemFacts<'_> {
        SystemFacts {
            profile: self.profile(),
            unobserved: self.unobserved(),
            unsupported_calls: self.unsupported_calls(),
            why_every_check_is_made: self.not_skipping(),
            pristine: self.pristine(),
            origin: self.origin(),
        }
    }

    fn keep_events(&mut self) {
        Runner::keep_events(self);
    }

    fn chop_at(&mut self, mutates: &[u32]) {
        Runner::chop_at(self, mutates);
    }
}
