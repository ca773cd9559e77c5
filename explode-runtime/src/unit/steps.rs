//! A unit, step by step: what it has reached before is replayed without checks, and each mutate
//! after that is explored.

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
    /// Runs a unit. The mutates of its state are replayed without checks; `work` does the checks of
    /// the others.
    pub fn run(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun {
        let Unit { state, mutates, .. } = unit;
        let _span = info_span!("unit", id = %unit.id(), depth = state.depth, mutates).entered();
        let script = unit.state.choices.iter().chain(&unit.script).cloned().collect();
        let mut pipeline =
            CrashPipeline::new(&self.blueprint, &self.plan, self.backend, self.pristine.clone());
        if self.keep_events {
            pipeline.keep_events();
        }
        let (asking, sources) = (Asking::new(script, work), Sources::new());
        let driver = UnitDriver::new(&asking, &sources, pipeline);
        let mut way = UnitSteps { runner: self, unit, driver, running: None };
        let early = way.go().err();
        let UnitDriver { pipeline, operations, .. } = way.driver;
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

/// A unit on its way.
struct UnitSteps<'a, 'w, 'r> {
    runner: &'a Runner<'r>,
    unit: &'a Unit,
    driver: UnitDriver<'a, 'w, 'r>,
    /// Not before the first `init`, nor after a chop that failed, which has called `finish` itself.
    running: Option<RunningStack>,
}

/// A stack that is mounted, and its checker between `init` and `finish`.
struct RunningStack {
    stack: Stack,
    checker: Box<dyn Checker>,
}

/// How many blocks of a disk hold something.
fn blocks(image: &Image) -> usize {
    let disks = image.devices().filter_map(|dev| image.disk(dev));
    disks.map(|disk| disk.blocks().count()).sum()
}

fn broken(fault: StepError) -> UnitStop {
    UnitStop::Broken(fault.into())
}

/// What was made before cannot be made again.
fn not_made(error: impl std::fmt::Display) -> UnitStop {
    UnitStop::Broken(BrokenKind::Tool.of(error))
}

/// Calls the checker's `finish`. A panic in it is an error like any other.
fn finish(checker: &mut dyn Checker, stack: &Stack) -> Result<(), StepError> {
    let finished = catch_unwind(AssertUnwindSafe(|| checker.finish(stack)));
    finished.unwrap_or_else(|panic| {
        Err(StepError::new(format!("finish panicked: {}", panic_words(panic.as_ref()))))
    })
}

/// Returns the checker that goes on behind a chop, if it is another one. A panic in the checker is
/// an error like any other.
fn after_chop(checker: &dyn Checker, stack: &Stack) -> Result<Option<Box<dyn Checker>>, StepError> {
    let chop = || checker.abilities().chop.map(|checker| checker.chop(stack)).transpose();
    catch_unwind(AssertUnwindSafe(chop)).unwrap_or_else(|panic| {
        Err(StepError::new(format!("chop panicked: {}", panic_words(panic.as_ref()))))
    })
}

impl UnitSteps<'_, '_, '_> {
    /// Goes all the way, and calls the checker's `finish` wherever it ends. If `finish` fails, too,
    /// what has ended the way before stays the reason.
    fn go(&mut self) -> Result<(), UnitStop> {
        let went = self.begin().and_then(|()| self.mutates());
        let Some(RunningStack { stack, mut checker }) = self.running.take() else { return went };
        self.driver.before(WorkerStep::Finish);
        let _span = debug_span!("finish").entered();
        let finished = finish(checker.as_mut(), &stack);
        // What goes away now is unmounted where it must be.
        drop(checker);
        drop(stack);
        self.driver.before(WorkerStep::Between);
        went?;
        // As in a mutate, what cannot be done after that says nothing.
        if self.driver.has_gone_bad() { Ok(()) } else { finished.map_err(broken) }
    }

    /// Makes the mutates, and the chops among them.
    fn mutates(&mut self) -> Result<(), UnitStop> {
        let known = self.unit.state.depth;
        if known == 0 {
            self.reached(0)?;
        }
        let restored = self.driver.place.mutates;
        for depth in restored..self.depths() {
            self.go_on()?;
            if depth > restored && self.runner.chops.is_between(depth) {
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

    /// Calls of mutate in all.
    fn depths(&self) -> u32 {
        self.unit.state.depth + self.unit.mutates
    }

    fn go_on(&mut self) -> Result<(), UnitStop> {
        if self.driver.asking.work.get_mut().stop() { Err(UnitStop::Stopped) } else { Ok(()) }
    }

    /// The system as it was at the last chop that is remembered, or as it is at first.
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

    /// The stack has been mounted. From now on its calls are written down, if they are wanted.
    fn init(&mut self, mut stack: Stack, mut checker: Box<dyn Checker>) -> Result<(), UnitStop> {
        debug_span!("init").in_scope(|| checker.init(&stack)).map_err(broken)?;
        if let Some(log) = self.driver.asking.work.get_mut().log() {
            stack.note(log);
        }
        self.running = Some(RunningStack { stack, checker });
        Ok(())
    }

    /// Reports the state; the answer may be to stop here.
    fn reached(&mut self, depth: u32) -> Result<(), UnitStop> {
        let more = depth < self.depths();
        let Some(RunningStack { checker, .. }) = &self.running else { return Ok(()) };
        let go_on = self.driver.reached(checker.as_ref(), depth, more);
        if go_on || !more { Ok(()) } else { Err(UnitStop::Stopped) }
    }

    /// Puts the stack to rest, and starts one on the disks that it leaves. A chop between two calls
    /// of mutate is remembered if the checker can be.
    fn chop(&mut self, is_between: bool) -> Result<(), UnitStop> {
        let Some(RunningStack { mut stack, mut checker }) = self.running.take() else {
            return Ok(());
        };
        let span = debug_span!("chop").entered();
        self.driver.place.chops += 1;
        self.driver.before(self.driver.place.chop());
        let chopped = after_chop(checker.as_ref(), &stack);
        // If both fail, the chop's error stays the reason.
        let finished = finish(checker.as_mut(), &stack);
        let rest = chopped.and_then(|next| finished.map(|()| next)).and_then(|next| {
            if let Some(next) = next {
                checker = next;
            }
            self.lend(|| stack.stop())
        });
        let image = rest.and_then(|()| self.driver.pipeline.follow(stack.devices()));
        let image = image.and_then(|()| stack.devices().image());
        let image = image.map_err(|fault| broken(fault.of("a chop failed")))?;
        // There is one set of devices for the system that is being driven.
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

    /// Lends the sequence of choices to a stack that starts, or that stops for a chop. A unit that
    /// ends lends it no more: there would be choices after its last state.
    fn lend<T>(&self, work: impl FnOnce() -> T) -> T {
        lend(&Lent { asking: self.driver.asking, mutate: None }, work)
    }

    /// A stack that is started on these disks; `step` is announced before it is mounted.
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
        let started = self.lend(|| stack.start()).and_then(|()| backend.settle(&stack.threads()));
        let started = started.and_then(|()| self.driver.started(&stack));
        started.map_err(broken)?;
        Ok(stack)
    }
}
