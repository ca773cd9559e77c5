//! A unit, step by step: what it has reached before is replayed without checks, and each mutate after that is explored.

use explode_ramdisk::{Image, Recording};

use super::chops::Chopped;
use super::driver::UnitDriver;
use super::ended::{Early, Ended};
use super::runner::Runner;
use super::start::build;
use super::work::Work;
use crate::base::Fault;
use crate::check::Checker;
use crate::choose::Chooser;
use crate::explore::Unit;
use crate::judge::Pipeline;
use crate::stack::Stack;
use crate::verdict::{BrokenKind, Step};

impl Runner<'_> {
    /// Runs a unit. The mutates of its state are replayed without checks; `work` does the checks of the others.
    pub fn run(&self, unit: &Unit, work: &mut dyn Work) -> Ended {
        let script = unit.state.choices.iter().chain(&unit.script).cloned().collect();
        let mut pipeline = Pipeline::new(self.registry, &self.plan, self.backend, self.pristine.clone());
        if self.keep_events {
            pipeline.keep_events();
        }
        let driver = UnitDriver::new(Chooser::new(script), pipeline, work);
        let mut way = Way { runner: self, unit, driver };
        let early = way.go().err();
        let UnitDriver { mut chooser, pipeline, operations, .. } = way.driver;
        if early.is_none() {
            chooser.finish();
        }
        let early =
            chooser.diverged().cloned().map(|divergence| Early::Diverged(Box::new(divergence))).or(early);
        let events = pipeline.into_events();
        Ended { choices: chooser.made().to_vec(), operations, early, events }
    }
}

/// A unit on its way.
struct Way<'a, 'r> {
    runner: &'a Runner<'r>,
    unit: &'a Unit,
    driver: UnitDriver<'a, 'r>,
}

fn broken(fault: Fault) -> Early {
    Early::Broken(fault.into())
}

/// What was made before cannot be made again.
fn not_made(error: impl std::fmt::Display) -> Early {
    Early::Broken(BrokenKind::Tool.of(error))
}

impl Way<'_, '_> {
    /// Goes all the way.
    fn go(&mut self) -> Result<(), Early> {
        let (mut stack, mut checker) = self.begin()?;
        self.note(&mut stack);
        let known = self.unit.state.depth;
        if known == 0 {
            self.reached(checker.as_ref(), 0)?;
        }
        let restored = self.driver.place.mutates;
        for depth in restored..self.depths() {
            self.go_on()?;
            if depth > restored && self.runner.chops.is_between(depth) {
                stack = self.chop_between(stack, &mut checker)?;
                self.go_on()?;
            }
            let explored = depth >= known;
            self.driver.mutate(depth + 1, &stack, checker.as_mut(), explored)?;
            if explored {
                self.reached(checker.as_ref(), depth + 1)?;
            }
        }
        if self.runner.chops.is_last(self.depths()) {
            (stack, _) = self.chop(stack, &mut checker)?;
        }
        self.driver.about_to(Step::Finish);
        checker.finish(&stack).map_err(broken)?;
        // What goes away now is unmounted where it must be.
        drop(checker);
        drop(stack);
        self.driver.about_to(Step::Between);
        Ok(())
    }

    /// Calls of mutate in all.
    fn depths(&self) -> u32 {
        self.unit.state.depth + self.unit.mutates
    }

    fn go_on(&mut self) -> Result<(), Early> {
        if self.driver.work.stop() { Err(Early::Stopped) } else { Ok(()) }
    }

    /// From now on its calls are written down, if they are wanted.
    fn note(&self, stack: &mut Stack) {
        if let Some(log) = self.driver.work.log() {
            stack.note(log);
        }
    }

    /// The system as it was at the last chop that is remembered, or as it is at first.
    fn begin(&mut self) -> Result<(Stack, Box<dyn Checker>), Early> {
        let Runner { registry, plan, pristine, chops, chopped, .. } = self.runner;
        self.driver.about_to(Step::Between);
        let usable = !self.runner.keep_events;
        let chopped = usable.then(|| chopped.borrow_mut().last_before(&self.unit.state, chops));
        if let Some(Chopped { image, checker, place, choices }) = chopped.flatten() {
            self.driver.place = place;
            self.driver.chooser.skip(choices);
            self.driver.pipeline.chop(image.clone());
            if self.runner.reads_log {
                self.driver.pipeline.keep_for_checker();
            }
            let stack = self.start_on(image, Some(place.chop()))?;
            return Ok((stack, checker));
        }
        let stack = self.start_on(pristine.clone(), Some(Step::Start))?;
        let def = registry.checker_of(plan).map_err(not_made)?;
        let mut checker = def.make(&plan.checker_options).map_err(not_made)?;
        if self.runner.reads_log {
            self.driver.pipeline.keep_for_checker();
        }
        self.go_on()?;
        self.driver.about_to(Step::Init);
        checker.init(&stack).map_err(broken)?;
        Ok((stack, checker))
    }

    /// Reports the state; the answer may be to stop here.
    fn reached(&mut self, checker: &dyn Checker, depth: u32) -> Result<(), Early> {
        let more = depth < self.depths();
        let go_on = self.driver.reached(checker, depth, more);
        if go_on || !more { Ok(()) } else { Err(Early::Stopped) }
    }

    /// A chop between two calls of mutate, which is remembered if the checker can be.
    fn chop_between(&mut self, stack: Stack, checker: &mut Box<dyn Checker>) -> Result<Stack, Early> {
        let (mut stack, image) = self.chop(stack, checker)?;
        self.note(&mut stack);
        if let Some(checker) = checker.fork() {
            let choices = self.driver.chooser.made();
            let chopped = Chopped { image, checker, place: self.driver.place, choices: choices.len() };
            self.runner.chopped.borrow_mut().keep(choices, chopped);
        }
        Ok(stack)
    }

    /// Puts a stack to rest, and starts one on the disks that it leaves.
    fn chop(&mut self, mut stack: Stack, checker: &mut Box<dyn Checker>) -> Result<(Stack, Image), Early> {
        self.driver.place.chops += 1;
        self.driver.about_to(self.driver.place.chop());
        let chopped = checker.abilities().chop.map(|checker| checker.chop(&stack)).transpose();
        let rest = chopped.and_then(|chopped| {
            if let Some(next) = chopped {
                *checker = next;
            }
            stack.stop()
        });
        let image = rest.and_then(|()| self.driver.pipeline.follow(stack.devices()));
        let image = image.and_then(|()| stack.devices().image());
        let image = image.map_err(|fault| broken(fault.of("a chop failed")))?;
        // There is one set of devices for the system that is being driven.
        drop(stack);
        self.driver.pipeline.chop(image.clone());
        Ok((self.start_on(image.clone(), None)?, image))
    }

    /// A stack that is started on these disks; `step` is announced before it is mounted.
    fn start_on(&mut self, image: Image, step: Option<Step>) -> Result<Stack, Early> {
        let Runner { registry, plan, backend, begins_with_files, leaves_out, .. } = self.runner;
        let recording = if plan.settings.soft { Recording::Operations } else { Recording::On };
        let mut stack = build(registry, plan, *backend, image, recording).map_err(not_made)?;
        stack.set_starts_populated(*begins_with_files);
        stack.set_unsupported_calls(leaves_out);
        if let Some(step) = step {
            self.driver.about_to(step);
        }
        let started = stack.start().and_then(|()| backend.settle(&stack.threads()));
        let started = started.and_then(|()| self.driver.started(&stack));
        started.map_err(broken)?;
        Ok(stack)
    }
}
