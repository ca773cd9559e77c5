//! A unit, step by step: mutates up to its state are replayed without checks, and each later mutate
//! is explored.

use std::panic::{AssertUnwindSafe, catch_unwind};

use explode_ramdisk::{Image, Recording};
use tracing::{debug_span, info_span};

use super::chop_cache::ChopState;
use super::driver::UnitDriver;
use super::first_start::build;
use super::hooks::UnitHooks;
use super::lent::Lent;
use super::runner::Runner;
use super::sources::{Asking, Sources};
use super::stop::{UnitRun, UnitStop};
use crate::base::{StepError, panic_words};
use crate::check::Checker;
use crate::choose::lend;
use crate::explore::Unit;
use crate::judge::CrashPipeline;
use crate::stack::Stack;
use crate::verdict::{BrokenKind, WorkerStep};

impl Runner<'_> {
    /// Runs a unit. The mutates of its state are replayed without checks. `work` makes the checks
    /// of the others.
    pub fn run(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun {
        let Unit { state, mutates, .. } = unit;
        let _span = info_span!("unit", id = %unit.id(), depth = state.depth, mutates).entered();
        let script = unit.state.choices.iter().chain(&unit.script).cloned().collect();
        let mut pipeline =
            CrashPipeline::new(&self.blueprint, &self.plan, self.backend, self.pristine.clone());
        if self.keep_events {
            pipeline.keep_events();
        }
        if self.record {
            pipeline.record();
        }
        let (asking, sources) = (Asking::new(script, work), Sources::new());
        let driver = UnitDriver::new(&asking, &sources, pipeline);
        let mut steps = UnitSteps { runner: self, unit, driver, running: None };
        let early = steps.go().err();
        let UnitDriver { pipeline, operations, .. } = steps.driver;
        let mut chooser = asking.chooser.into_inner();
        if early.is_none() {
            chooser.finish();
        }
        let early = chooser
            .diverged()
            .cloned()
            .map(|divergence| UnitStop::Diverged(Box::new(divergence)))
            .or(early);
        let events = pipeline.into_events();
        UnitRun { choices: chooser.made().to_vec(), operations, early, events }
    }
}

/// A unit in progress.
struct UnitSteps<'a, 'w, 'r> {
    runner: &'a Runner<'r>,
    unit: &'a Unit,
    driver: UnitDriver<'a, 'w, 'r>,
    /// The mounted stack. `None` before the first `init`, and after a failed chop, which has called
    /// `finish` itself.
    running: Option<RunningStack>,
}

/// A mounted stack, and its checker between `init` and `finish`.
struct RunningStack {
    stack: Stack,
    checker: Box<dyn Checker>,
}

/// Returns the number of blocks with contents.
fn blocks(image: &Image) -> usize {
    let disks = image.devices().filter_map(|dev| image.disk(dev));
    disks.map(|disk| disk.blocks().count()).sum()
}

fn broken(fault: StepError) -> UnitStop {
    UnitStop::Broken(fault.into())
}

/// Returns the error for a checker or a stack that was made before and cannot be made again.
fn not_made(error: impl std::fmt::Display) -> UnitStop {
    UnitStop::Broken(BrokenKind::Tool.of(error))
}

/// Calls the checker's `finish`. A panic counts as an error.
fn finish(checker: &mut dyn Checker, stack: &Stack) -> Result<(), StepError> {
    let finished = catch_unwind(AssertUnwindSafe(|| checker.finish(stack)));
    finished.unwrap_or_else(|panic| {
        Err(StepError::new(format!("finish panicked: {}", panic_words(panic.as_ref()))))
    })
}

/// Returns the checker that continues after a chop. `None` if it is the same one. A panic counts as
/// an error.
fn after_chop(checker: &dyn Checker, stack: &Stack) -> Result<Option<Box<dyn Checker>>, StepError> {
    let chop = || checker.abilities().chop.map(|checker| checker.chop(stack)).transpose();
    catch_unwind(AssertUnwindSafe(chop)).unwrap_or_else(|panic| {
        Err(StepError::new(format!("chop panicked: {}", panic_words(panic.as_ref()))))
    })
}

impl UnitSteps<'_, '_, '_> {
    /// Runs the whole unit and then calls the checker's `finish`. An error of `finish` does not
    /// replace an earlier reason.
    fn go(&mut self) -> Result<(), UnitStop> {
        let went = self.begin().and_then(|()| self.mutates());
        let Some(RunningStack { stack, mut checker }) = self.running.take() else { return went };
        self.driver.before(WorkerStep::Finish);
        let _span = debug_span!("finish").entered();
        let finished = finish(checker.as_mut(), &stack);
        // Dropping the stack unmounts it where that is necessary.
        drop(checker);
        drop(stack);
        self.driver.before(WorkerStep::Between);
        went?;
        if self.driver.has_gone_bad() { Ok(()) } else { finished.map_err(broken) }
    }

    /// Returns the effect of an error that the checked system has shown when it was started or
    /// stopped. After a fault a failed operation is no error, as in a mutate.
    fn failed(&self, fault: StepError) -> UnitStop {
        if self.driver.has_gone_bad() { UnitStop::Stopped } else { broken(fault) }
    }

    /// Calls the mutates, with the chops between them.
    fn mutates(&mut self) -> Result<(), UnitStop> {
        let known = self.unit.state.depth;
        if known == 0 {
            self.reached(0)?;
        }
        let restored = self.driver.place.mutates;
        for depth in restored..self.depths() {
            self.go_on()?;
            if depth > restored && self.is_chopped(depth) {
                self.chop(true)?;
                self.go_on()?;
            }
            let explored = depth >= known;
            if let Some(RunningStack { stack, checker }) = &mut self.running {
                self.driver.mutate(depth + 1, stack, checker.as_mut(), explored)?;
            }
            if explored {
                self.reached(depth + 1)?;
            }
        }
        if self.runner.chops.is_last(self.depths()) { self.chop(false) } else { Ok(()) }
    }

    /// Returns true if there is a chop after `mutates` calls and before the next.
    fn is_chopped(&self, mutates: u32) -> bool {
        self.runner.chops.is_between(mutates) || mutates == 1 && self.checker_remounts()
    }

    fn checker_remounts(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.checker.abilities().remounts)
    }

    /// Returns the total number of calls of mutate.
    fn depths(&self) -> u32 {
        self.unit.state.depth + self.unit.mutates
    }

    fn go_on(&mut self) -> Result<(), UnitStop> {
        if self.driver.asking.work.get_mut().stop() { Err(UnitStop::Stopped) } else { Ok(()) }
    }

    /// Starts the system in the state of the last chop that is kept, or on the pristine disks.
    fn begin(&mut self) -> Result<(), UnitStop> {
        let Runner { registry, plan, pristine, chops, chopped, .. } = self.runner;
        self.driver.before(WorkerStep::Between);
        let usable = !self.runner.keep_events;
        let chopped = usable.then(|| chopped.borrow_mut().last_before(&self.unit.state, chops));
        if let Some(ChopState { image, checker, place, choices }) = chopped.flatten() {
            self.driver.place = place;
            self.driver.asking.chooser.get_mut().skip(choices);
            self.driver.pipeline.chop(image.clone());
            if self.runner.reads_log {
                self.driver.pipeline.keep_for_checker();
            }
            let stack = self.start_on(image, Some(place.chop()))?;
            self.go_on()?;
            return self.init(stack, checker);
        }
        let stack = self.start_on(pristine.clone(), Some(WorkerStep::Start))?;
        let def = registry.checker_of(plan).map_err(not_made)?;
        let checker = def.make(&plan.checker_options).map_err(not_made)?;
        if self.runner.reads_log {
            self.driver.pipeline.keep_for_checker();
        }
        self.go_on()?;
        self.driver.before(WorkerStep::Init);
        self.init(stack, checker)
    }

    /// Calls the checker's `init` on a mounted stack. From now on the stack's calls are logged, if
    /// that is wanted.
    fn init(&mut self, mut stack: Stack, mut checker: Box<dyn Checker>) -> Result<(), UnitStop> {
        let ready = debug_span!("init").in_scope(|| checker.init(&stack));
        ready.map_err(|fault| self.failed(fault))?;
        if let Some(log) = self.driver.asking.work.get_mut().log() {
            stack.note(log);
        }
        self.running = Some(RunningStack { stack, checker });
        Ok(())
    }

    /// Reports the state. The unit may have to stop there.
    fn reached(&mut self, depth: u32) -> Result<(), UnitStop> {
        let more = depth < self.depths();
        let Some(RunningStack { checker, .. }) = &self.running else { return Ok(()) };
        let go_on = self.driver.reached(checker.as_ref(), depth, more);
        if go_on || !more { Ok(()) } else { Err(UnitStop::Stopped) }
    }

    /// Unmounts the stack and starts another one on its disks. After a chop between two calls of
    /// mutate the state is kept, if the checker can be copied.
    fn chop(&mut self, is_between: bool) -> Result<(), UnitStop> {
        let demanded = self.driver.place.mutates == 1 && self.checker_remounts();
        let Some(RunningStack { mut stack, mut checker }) = self.running.take() else {
            return Ok(());
        };
        let span = debug_span!("chop").entered();
        self.driver.place.chops += u32::from(!demanded);
        self.driver.place.remounted |= demanded;
        self.driver.before(self.driver.place.chop());
        let chopped = after_chop(checker.as_ref(), &stack);
        // If both fail, the error of the chop is reported.
        let finished = finish(checker.as_mut(), &stack);
        let rest = chopped.and_then(|next| finished.map(|()| next)).and_then(|next| {
            if let Some(next) = next {
                checker = next;
            }
            self.lend(|| stack.stop())
        });
        rest.map_err(|fault| self.failed(fault.of("a chop failed")))?;
        let followed = self.driver.pipeline.follow(stack.devices());
        let image = followed.and_then(|()| stack.devices().image());
        let image = image.map_err(|fault| broken(fault.of("a chop failed")))?;
        // A disk that has failed does not work again because the stack is started again.
        let image = self.driver.pipeline.in_condition(image);
        // The system under test has only one set of devices.
        drop(stack);
        self.driver.pipeline.chop(image.clone());
        if let Some(checker) = is_between.then(|| checker.fork()).flatten() {
            let chooser = self.driver.asking.chooser.get();
            let choices = chooser.made();
            let (image, place) = (image.clone(), self.driver.place);
            let chopped = ChopState { image, checker, place, choices: choices.len() };
            self.runner.chopped.borrow_mut().keep(choices, chopped);
        }
        drop(span);
        let stack = self.start_on(image, None)?;
        self.go_on()?;
        self.init(stack, checker)
    }

    /// Lends the sequence of choices to a stack that starts, or stops for a chop. The end of a unit
    /// does not lend it, because there would be choices after its last state.
    fn lend<T>(&self, work: impl FnOnce() -> T) -> T {
        lend(&Lent { asking: self.driver.asking, mutate: None }, work)
    }

    /// Returns a stack started on these disks. `step` is announced before it is mounted.
    fn start_on(&mut self, image: Image, step: Option<WorkerStep>) -> Result<Stack, UnitStop> {
        let Runner {
            registry,
            plan,
            backend,
            starts_populated: begins_with_files,
            unsupported_calls,
            ..
        } = self.runner;
        let _span = debug_span!("start", blocks = blocks(&image)).entered();
        let recording = if plan.settings.soft { Recording::Operations } else { Recording::On };
        let mut stack = build(registry, plan, *backend, image, recording).map_err(not_made)?;
        stack.set_starts_populated(*begins_with_files);
        stack.set_unsupported_calls(unsupported_calls);
        if let Some(log) = self.driver.asking.work.get_mut().log() {
            stack.place_calls(log);
        }
        if let Some(step) = step {
            self.driver.before(step);
        }
        self.lend(|| stack.start()).map_err(|fault| self.failed(fault))?;
        let settled = backend.settle(&stack.threads());
        settled.and_then(|()| self.driver.started(&stack)).map_err(broken)?;
        Ok(stack)
    }
}
