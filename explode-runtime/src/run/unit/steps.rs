//! A unit, step by step: what it has reached before is replayed without checks, and each mutate after that is explored.

use super::{media, quiesce};
use std::cell::RefCell;

use explode_ramdisk::{Image, Recording};
use xxhash_rust::xxh3::xxh3_128;

use super::Runner;
use super::ended::Early;
use super::mutate::mutate;
use super::start::build;
use super::turn::HandOver;
use super::work::{SoFar, Work};
use crate::base::RunError;
use crate::check::{Ask, Checker, Turn};
use crate::choose::{Choice, Chooser, Point};
use crate::explore::{Arrival, Unit};
use crate::faults;
use crate::faults::background::ran;
use crate::faults::kernel::diverted;
use crate::pipeline::Pipeline;
use crate::run::chops::Chopped;
use crate::stack::Stack;
use crate::trace::Place;
use crate::verdict::{Failure, Step};

/// A unit on its way.
struct Way<'a, 'r> {
    runner: &'a Runner<'r>,
    unit: &'a Unit,
    chooser: &'a mut Chooser,
    work: &'a RefCell<&'a mut dyn Work>,
    operations: &'a mut u64,
    pipeline: &'a RefCell<Pipeline<'r>>,
    place: Place,
}

impl<'r> Runner<'r> {
    /// Goes all the way.
    pub(super) fn run_to_end<'a>(
        &'a self,
        unit: &'a Unit,
        chooser: &'a mut Chooser,
        work: &'a RefCell<&'a mut dyn Work>,
        operations: &'a mut u64,
        pipeline: &'a RefCell<Pipeline<'r>>,
    ) -> Result<(), Early> {
        Way { runner: self, unit, chooser, work, operations, pipeline, place: Place::default() }.go()
    }
}

fn broken(error: impl std::fmt::Display) -> Early {
    Early::Broken(error.to_string())
}

impl Way<'_, '_> {
    fn go(mut self) -> Result<(), Early> {
        let (mut stack, mut checker) = self.begin()?;
        self.note(&mut stack);
        let known = self.unit.state.depth;
        if known == 0 {
            self.reached(checker.as_ref(), 0)?;
        }
        let restored = self.place.mutates;
        for depth in restored..self.depths() {
            self.go_on()?;
            if depth > restored && self.runner.chops.is_between(depth) {
                stack = self.chop_between(stack, checker.as_mut())?;
                self.go_on()?;
            }
            self.mutate(depth, &stack, checker.as_mut())?;
            if depth >= known {
                self.reached(checker.as_ref(), depth + 1)?;
            }
        }
        if self.runner.chops.is_last(self.depths()) {
            (stack, _) = self.chop(stack, checker.as_mut())?;
        }
        self.about_to(Step::Finish);
        checker.finish(&stack).map_err(broken)?;
        // What goes away now is unmounted where it must be.
        drop(checker);
        drop(stack);
        self.about_to(Step::Between);
        Ok(())
    }

    /// Calls of mutate in all.
    fn depths(&self) -> u32 {
        self.unit.state.depth + self.unit.mutates
    }

    fn about_to(&self, step: Step) {
        let so_far = SoFar { choices: self.chooser.made(), operations: *self.operations, place: self.place };
        self.work.borrow_mut().about_to(step, &so_far);
    }

    fn go_on(&self) -> Result<(), Early> {
        if self.work.borrow_mut().stop() { Err(Early::Stopped) } else { Ok(()) }
    }

    /// From now on its calls are written down, if they are wanted.
    fn note(&self, stack: &mut Stack) {
        if let Some(log) = self.work.borrow().log() {
            stack.note(log);
        }
    }

    /// The system as it was at the last chop that is remembered, or as it is at first.
    fn begin(&mut self) -> Result<(Stack, Box<dyn Checker>), Early> {
        let Runner { registry, plan, pristine, chops, chopped, .. } = self.runner;
        self.about_to(Step::Between);
        let usable = !self.runner.keep_events;
        let chopped = usable.then(|| chopped.borrow_mut().last_before(&self.unit.state, chops));
        if let Some(Chopped { image, checker, place, choices }) = chopped.flatten() {
            self.place = place;
            self.chooser.skip(choices);
            self.pipeline.borrow_mut().chop(image.clone());
            let stack = self.runner.start_on(image, || self.about_to(self.place.chop())).map_err(broken)?;
            return Ok((stack, checker));
        }
        let stack = self.runner.start_on(pristine.clone(), || self.about_to(Step::Start)).map_err(broken)?;
        let def = registry.checker_of(plan).map_err(broken)?;
        let mut checker = def.make(&plan.checker_options).map_err(broken)?;
        checker.leave_out(&self.runner.leaves_out);
        self.go_on()?;
        self.about_to(Step::Init);
        checker.init(&stack).map_err(broken)?;
        Ok((stack, checker))
    }

    /// Says so; whoever hears it may want no more.
    fn reached(&self, checker: &dyn Checker, depth: u32) -> Result<(), Early> {
        let bytes = checker.get_sig();
        let arrival = Arrival {
            signature: signature(bytes.as_deref(), self.chooser, depth),
            depth,
            choices: self.chooser.made().len() as u64,
            sketch: None,
            topology: checker.topology().map(|bytes| xxh3_128(&bytes)),
        };
        let more = depth < self.depths();
        let go_on = self.work.borrow_mut().reached(arrival, bytes.as_deref(), more);
        if go_on || !more { Ok(()) } else { Err(Early::Stopped) }
    }

    /// One call of mutate, the one that leads to `depth + 1`.
    fn mutate(&mut self, depth: u32, stack: &Stack, checker: &mut dyn Checker) -> Result<(), Early> {
        let explored = depth >= self.unit.state.depth;
        self.place.mutates = depth + 1;
        *self.operations += u64::from(explored);
        self.about_to(self.place.step());
        let Way { runner, chooser, work, pipeline, place, .. } = self;
        let operations = *self.operations;
        let mut fallback = |point: &Point<'_>| work.borrow_mut().fallback(point);
        let seed = runner.plan.settings.seed;
        media::choose(stack, &mut pipeline.borrow_mut(), chooser, &mut fallback, seed).map_err(broken)?;
        let hand_over = RefCell::new(HandOver::new(stack));
        let mut ask = |stack: &Stack, ask: &Ask<'_>| {
            let here = SoFar { choices: ask.chooser.made(), operations, place: *place };
            place.interval += 1;
            // After a divergence nothing says anything any more, nor where the kernel's choices are not known.
            let asked = if ask.chooser.diverged().is_some() || hand_over.borrow().is_in_trouble() {
                Err(Failure::Stop)
            } else if explored {
                work.borrow_mut().crashes(&mut pipeline.borrow_mut(), stack, ask, &here)
            } else {
                Ok(pipeline.borrow_mut().skip(stack.devices(), ask.when)?)
            };
            work.borrow_mut().about_to(place.step(), &SoFar { place: *place, ..here });
            asked
        };
        let mut turn = |turn: Turn, chooser: &mut Chooser| {
            let mut ahead = || work.borrow().ahead();
            let mut chosen = |choice: &Choice| work.borrow_mut().chosen(choice);
            hand_over.borrow_mut().to(turn, stack, chooser, &mut ahead, &mut chosen);
        };
        let failed = mutate(checker, stack, chooser, &mut fallback, pipeline, &mut ask, &mut turn).err();
        if let Some(fault) = hand_over.into_inner().trouble() {
            return Err(broken(fault));
        }
        match failed {
            // Whoever runs the unit looks at the divergence first.
            _ if chooser.diverged().is_some() => Err(Early::Stopped),
            Some(Failure::Stop) => Err(Early::Stopped),
            Some(Failure::Violation(violation)) => Err(Early::Violated(violation, *place)),
            Some(Failure::Broken(why)) => Err(Early::Broken(why)),
            None => Ok(()),
        }
    }

    /// A chop between two calls of mutate, which is remembered if the checker can be.
    fn chop_between(&mut self, stack: Stack, checker: &mut dyn Checker) -> Result<Stack, Early> {
        let (mut stack, image) = self.chop(stack, checker)?;
        self.note(&mut stack);
        if let Some(checker) = checker.fork() {
            let choices = self.chooser.made();
            let chopped = Chopped { image, checker, place: self.place, choices: choices.len() };
            self.runner.chopped.borrow_mut().keep(choices, chopped);
        }
        Ok(stack)
    }

    /// Puts a stack to rest, and starts one on the disks that it leaves.
    fn chop(&mut self, mut stack: Stack, checker: &mut dyn Checker) -> Result<(Stack, Image), Early> {
        self.place.chops += 1;
        self.about_to(self.place.chop());
        let rest = checker.chop(&stack).and_then(|()| stack.stop());
        let image = rest.and_then(|()| self.pipeline.borrow_mut().follow(stack.devices()));
        let image = image.and_then(|()| stack.devices().image());
        let image = image.map_err(|fault| broken(format!("a chop failed: {fault}")))?;
        // There is one set of devices for the system that is being driven.
        drop(stack);
        self.pipeline.borrow_mut().chop(image.clone());
        Ok((self.runner.start_on(image.clone(), || ()).map_err(broken)?, image))
    }
}

impl Runner<'_> {
    /// A stack that is started on these disks; `mounts` hears when it is mounted.
    fn start_on(&self, image: Image, mounts: impl Fn()) -> Result<Stack, RunError> {
        let Runner { registry, plan, backend, .. } = self;
        let recording = if plan.settings.soft { Recording::Operations } else { Recording::On };
        let mut stack = build(registry, plan, *backend, image, recording)?;
        stack.set_begins_with_files(self.begins_with_files);
        mounts();
        let started = stack
            .start()
            .and_then(|()| backend.settle(&stack.threads()))
            .and_then(|()| quiesce::quiesce(&stack));
        started.map_err(|fault| RunError::Broken(fault.to_string()))?;
        Ok(stack)
    }
}

/// What the checker says of the state; by default the way to it, so that no two states are equal (EX-20).
fn signature(bytes: Option<&[u8]>, chooser: &Chooser, depth: u32) -> u128 {
    let way = || [&chooser.hash().to_le_bytes()[..], &depth.to_le_bytes()].concat();
    let mut signature = bytes.map_or_else(way, <[u8]>::to_vec);
    // What has gone bad is part of the state, and no checker's affair.
    faults::media::faults(chooser.made()).for_each(|fault| signature.extend(fault.as_bytes()));
    // Likewise what has failed, or ended late: there is less that may from here on.
    diverted(chooser.made()).for_each(|choice| {
        signature.extend(choice.label.to_string().as_bytes());
        signature.extend(choice.value.to_le_bytes());
    });
    // And what the kernel has done on its own.
    ran(chooser.made()).for_each(|(call, what)| signature.extend(format!("{call}: {what};").as_bytes()));
    xxh3_128(&signature)
}
