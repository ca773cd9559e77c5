//! The first start of a stack: makes the system, unmounts it, and keeps its disks.

use std::cell::RefCell;
use std::collections::BTreeMap;

use explode_ramdisk::{Image, Recording};

use super::runner::Runner;
use crate::base::{ExactCount, Mode, RunError, StepError, UsageError};
use crate::check::{Checker, CheckerFacts, Unsupported};
use crate::devices::{Backend, HostId, Side};
use crate::plan::{Plan, Registry, RunOrigin};
use crate::stack::Stack;
use crate::unit::chop_cache::ChopPoints;
use crate::verdict::Profile;

impl<'a> Runner<'a> {
    /// Starts the system of a plan for the first time, unmounts it, and keeps its disks.
    ///
    /// # Errors
    /// A name or an option is wrong, a component cannot start, or the checker refuses the stack.
    pub fn start(
        registry: &'a Registry,
        plan: &Plan,
        backend: &'a dyn Backend,
    ) -> Result<Runner<'a>, RunError> {
        plan.check(registry)?;
        let plan = &plan.completed(registry)?;
        let mut stack = build(registry, plan, backend, Image::new(), Recording::Off)?;
        let broken = |fault: StepError| RunError::from(fault.of("the first start failed"));
        stack.start_first().map_err(broken)?;
        // A function that cannot be probed is refused here and not in the middle of the run.
        if let Some(disks) = stack.devices().kernel() {
            disks.probe(&stack.failures())?;
        }
        let (profile, mut unobserved) = (stack.profile(), stack.unobserved());
        if plan.settings.soft {
            may_crash_softly(&stack)?;
            unobserved = stack.unobserved_by_soft_crashes();
        }
        let checker = registry.checker_of(plan)?.make(&plan.checker_options)?;
        stack.look_for_files();
        let begins_with_files = stack.starts_populated();
        let facts = checker.facts(&stack).map_err(unsupported).and_then(|facts| {
            not_promised(profile.as_ref(), &facts)?;
            not_empty(registry, plan, &stack, &facts).map_err(unsupported)?;
            Ok(facts)
        });
        stack.stop().map_err(broken)?;
        let facts = facts?;
        let not_skipping = why_every_check_is_made(plan, &stack, &facts);
        let versions = versions(&stack, backend);
        let pristine = stack.devices().image().map_err(broken)?;
        let blueprint = stack.blueprint();
        drop(stack);
        let again = Restart { registry, plan, backend, pristine: &pristine, begins_with_files };
        let unsupported_calls = again.unsupported_calls(checker.as_ref())?;
        let forecast = again.forecast(checker, &unsupported_calls)?;
        let origin = RunOrigin {
            versions,
            pristine: pristine.identity().to_string(),
            stack: plan.stack.clone(),
            checker_defaults: plan.checker_options.defaults(),
        };
        let (chops, chopped) = (ChopPoints::of(plan.settings.chop), RefCell::default());
        Ok(Runner {
            registry,
            plan: plan.clone(),
            blueprint,
            backend,
            pristine,
            profile,
            unobserved,
            unsupported_calls,
            forecast,
            starts_populated: begins_with_files,
            why_every_check_is_made: not_skipping,
            reads_log: facts.reads_log,
            origin,
            keep_events: false,
            record: false,
            chops,
            chopped,
        })
    }
}

/// Starts a stack on the pristine disks for questions to the checker. The disks that it leaves are
/// discarded.
struct Restart<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    backend: &'a dyn Backend,
    pristine: &'a Image,
    begins_with_files: bool,
}

impl Restart<'_> {
    /// Returns the answer of `ask` on a stack that lacks these calls.
    fn ask<T>(
        &self,
        unsupported_calls: &[String],
        ask: impl FnOnce(&Stack) -> Result<T, StepError>,
    ) -> Result<T, RunError> {
        let Restart { registry, plan, backend, pristine, begins_with_files } = *self;
        let mut stack = build(registry, plan, backend, pristine.clone(), Recording::Off)?;
        stack.set_starts_populated(begins_with_files);
        stack.set_unsupported_calls(unsupported_calls);
        let answer = stack.start().and_then(|()| ask(&stack));
        let answer = answer.and_then(|answer| stack.stop().map(|()| answer));
        answer.map_err(|fault| RunError::from(fault.of("the first start failed")))
    }

    /// Returns the calls that the stack does not support.
    fn unsupported_calls(&self, checker: &dyn Checker) -> Result<Vec<String>, RunError> {
        match checker.abilities().probe {
            Some(probe) => self.ask(&[], |stack| probe.probe(stack)),
            None => Ok(Vec::new()),
        }
    }

    /// Returns how many mutates a complete run makes on paths of 1, 2, 3 and more mutates, up to
    /// the depth of the plan.
    fn forecast(
        &self,
        mut checker: Box<dyn Checker>,
        unsupported_calls: &[String],
    ) -> Result<Vec<ExactCount>, RunError> {
        if checker.abilities().forecast.is_none() {
            return Ok(Vec::new());
        }
        self.ask(unsupported_calls, |stack| {
            checker.init(stack)?;
            let forecast = checker.abilities().forecast;
            let depth = self.plan.settings.depth;
            let mutates = forecast.map_or_else(Vec::new, |forecast| forecast.mutates(depth));
            checker.finish(stack)?;
            Ok(mutates)
        })
    }
}

/// Returns an error if the stack cannot have soft crashes. On a kernel they repeat the calls on a
/// file system and reproduce nothing else.
fn may_crash_softly(stack: &Stack) -> Result<(), UsageError> {
    let why = match stack.devices().kernel() {
        Some(_) if !stack.has_file_system() => {
            "need a file system of the kernel that a layer of the stack mounts"
        }
        Some(_) if stack.may_go_bad() => {
            "do not work together with blocks that go bad; omit --set faults"
        }
        _ => return Ok(()),
    };
    Err(UsageError(format!("soft crashes in a guest or on this machine's kernel {why}")))
}

/// The number of file names in the text of a refusal.
const SHOWN: usize = 3;

/// Returns an error if the profile excludes all promises that the checker is about.
fn not_promised(profile: Option<&Profile>, facts: &CheckerFacts) -> Result<(), RunError> {
    let excluded =
        profile.and_then(|profile| Some(profile.cite(profile.excludes_all(&facts.promises)?)));
    excluded.map_or(Ok(()), |line| Err(RunError::NotPromised(line)))
}

fn unsupported(reason: Unsupported) -> RunError {
    RunError::Unsupported(reason.0)
}

/// Returns an error if the checker must start from an empty file system and this one is not empty.
fn not_empty(
    registry: &Registry,
    plan: &Plan,
    stack: &Stack,
    facts: &CheckerFacts,
) -> Result<(), Unsupported> {
    if !stack.starts_populated() || facts.populated_ok {
        return Ok(());
    }
    let names = stack.names_at_root();
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("/{name}")).collect();
    let shown = match names.len().saturating_sub(SHOWN) {
        _ if names.is_empty() => String::new(),
        0 => format!(" ({})", shown.join(", ")),
        more => format!(" ({} and {more} more)", shown.join(", ")),
    };
    let others = registry.checkers_of_populated(stack);
    let use_others =
        if others.is_empty() { String::new() } else { format!("use {}, or ", others.join(", ")) };
    Err(Unsupported(format!(
        "the file system is not empty after init and mount{shown}, and checker '{}' must start \
         with an empty one; \
         {use_others}a checker made of commands in a stack file, or a checker of your own with \
         the fact populated_ok",
        plan.checker
    )))
}

/// Returns the versions that decide a result: of this program, of the components' systems, and of
/// their programs in the backend.
fn versions(stack: &Stack, backend: &dyn Backend) -> BTreeMap<String, String> {
    let ours = ("explode".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let systems = stack.versions().into_iter().chain([ours]);
    systems.chain(backend.versions(&stack.programs())).collect()
}

/// Returns the reason why every check is made. `None` if verdicts can be reused.
fn why_every_check_is_made(plan: &Plan, stack: &Stack, facts: &CheckerFacts) -> Option<String> {
    if !plan.settings.skip {
        return Some("--no-skip".to_owned());
    }
    if plan.mode == Mode::Here {
        let why = "--in here, where other programs may keep a disk open, and its cache warm";
        return Some(why.to_owned());
    }
    let elsewhere =
        |layer: &str, name: &str| format!("{layer} '{name}' may depend on more than its disks");
    if let Some(layer) = stack.first_impure_layer() {
        return Some(elsewhere("component", layer));
    }
    if stack.may_go_bad() {
        return Some("blocks that may go bad".to_owned());
    }
    (!facts.reads_only_its_disks).then(|| elsewhere("checker", &plan.checker))
}

pub(super) fn build(
    registry: &Registry,
    plan: &Plan,
    backend: &dyn Backend,
    image: Image,
    recording: Recording,
) -> Result<Stack, RunError> {
    let Plan { stack, settings, .. } = plan;
    let devices = backend.disks(HostId::default(), Side::Live, image, recording, settings.seed);
    Ok(Stack::build(stack, &registry.components, devices, settings.rules, settings.seed)?)
}
