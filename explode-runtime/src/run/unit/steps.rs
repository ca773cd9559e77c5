//! A unit, step by step: what it has reached before is replayed without checks, and each mutate after that is explored.

use std::cell::RefCell;

use explode_ramdisk::{Image, Recording};
use xxhash_rust::xxh3::xxh3_128;

use super::Runner;
use super::ended::Early;
use super::mutate::mutate;
use super::start::build;
use super::work::{Place, SoFar, Work};
use crate::between::{self, ran};
use crate::check::{Ask, Checker, Failure};
use crate::choose::{Choice, Chooser, Point};
use crate::explore::{Arrival, Unit};
use crate::failures::{HandOver, Turn, diverted};
use crate::media;
use crate::pipeline::Pipeline;
use crate::recover::Stack;
use crate::run::chops::Chopped;
use crate::run::error::RunError;
use crate::run::worker::Step;

impl Runner<'_> {
    pub(super) fn run_to_end(
        &self,
        unit: &Unit,
        chooser: &mut Chooser,
        work: &RefCell<&mut dyn Work>,
        operations: &mut u64,
        pipeline: &RefCell<Pipeline<'_>>,
    ) -> Result<(), Early> {
        let broken = |error: &dyn std::fmt::Display| Early::Broken(error.to_string());
        let mut place = Place::default();
        let about_to = |step: Step, choices: &[Choice], operations: u64, place: Place| {
            work.borrow_mut().about_to(step, &SoFar { choices, operations, place });
        };
        let go_on = || if work.borrow_mut().stop() { Err(Early::Stopped) } else { Ok(()) };
        about_to(Step::Between, &[], 0, place);
        let usable = !self.keep_events;
        let chopped = usable.then(|| self.chopped.borrow_mut().last_before(&unit.state, &self.chops));
        let (mut stack, mut checker) = match chopped.flatten() {
            Some(Chopped { image, checker, place: there, choices }) => {
                place = there;
                chooser.skip(choices);
                pipeline.borrow_mut().chop(image.clone());
                let mounts = || about_to(place.chop(), chooser.made(), 0, place);
                (self.start_on(image, mounts).map_err(|error| broken(&error))?, checker)
            }
            None => {
                let mounts = || about_to(Step::Start, &[], 0, place);
                let stack = self.start_on(self.pristine.clone(), mounts).map_err(|error| broken(&error))?;
                let def = self.registry.checker_of(self.plan).map_err(|error| broken(&error))?;
                let mut checker = def.make(&self.plan.checker_options).map_err(|error| broken(&error))?;
                checker.leave_out(&self.leaves_out);
                go_on()?;
                about_to(Step::Init, &[], 0, place);
                checker.init(&stack).map_err(|fault| broken(&fault))?;
                (stack, checker)
            }
        };
        let note = |stack: &mut Stack| {
            if let Some(log) = work.borrow().log() {
                stack.note(log);
            }
        };
        note(&mut stack);
        let depths = unit.state.depth + unit.mutates;
        let reached = |checker: &dyn Checker, chooser: &Chooser, depth: u32| {
            let bytes = checker.get_sig();
            let signature = signature(bytes.as_deref(), chooser, depth);
            let choices = chooser.made().len() as u64;
            let topology = checker.topology().map(|bytes| xxh3_128(&bytes));
            let arrival = Arrival { signature, depth, choices, sketch: None, topology };
            let go_on = work.borrow_mut().reached(arrival, bytes.as_deref(), depth < depths);
            if go_on || depth == depths { Ok(()) } else { Err(Early::Stopped) }
        };
        if unit.state.depth == 0 {
            reached(checker.as_ref(), chooser, 0)?;
        }
        let restored = place.mutates;
        for depth in restored..depths {
            let explored = depth >= unit.state.depth;
            go_on()?;
            if depth > restored && self.chops.is_between(depth) {
                place.chops += 1;
                about_to(place.chop(), chooser.made(), *operations, place);
                let chopped = self.chop(stack, checker.as_mut(), pipeline);
                let image;
                (stack, image) = chopped.map_err(|error| broken(&error))?;
                note(&mut stack);
                if let Some(checker) = checker.fork() {
                    let choices = chooser.made();
                    let chopped = Chopped { image, checker, place, choices: choices.len() };
                    self.chopped.borrow_mut().keep(choices, chopped);
                }
                go_on()?;
            }
            place.mutates = depth + 1;
            *operations += u64::from(explored);
            let operations = *operations;
            about_to(place.step(), chooser.made(), operations, place);
            let mut fallback = |point: &Point<'_>| work.borrow_mut().fallback(point);
            let seed = self.plan.settings.seed;
            media::choose(&stack, &mut pipeline.borrow_mut(), chooser, &mut fallback, seed)
                .map_err(|fault| broken(&fault))?;
            let hand_over = RefCell::new(HandOver::new(&stack));
            let mut ask = |stack: &Stack, ask: &Ask<'_>| {
                let here = SoFar { choices: ask.chooser.made(), operations, place };
                place.interval += 1;
                // After a divergence nothing says anything any more, nor where the kernel's choices are not known.
                let asked = if ask.chooser.diverged().is_some() || hand_over.borrow().is_in_trouble() {
                    Err(Failure::Stop)
                } else if explored {
                    work.borrow_mut().crashes(&mut pipeline.borrow_mut(), stack, ask, &here)
                } else {
                    Ok(pipeline.borrow_mut().skip(stack.devices(), ask.when)?)
                };
                about_to(place.step(), here.choices, operations, place);
                asked
            };
            let mut turn = |turn: Turn, chooser: &mut Chooser| {
                let mut ahead = || work.borrow().ahead();
                let mut chosen = |choice: &Choice| work.borrow_mut().chosen(choice);
                hand_over.borrow_mut().to(turn, &stack, chooser, &mut ahead, &mut chosen);
            };
            let failed =
                mutate(checker.as_mut(), &stack, chooser, &mut fallback, pipeline, &mut ask, &mut turn).err();
            if let Some(fault) = hand_over.into_inner().trouble() {
                return Err(broken(&fault));
            }
            match failed {
                // Whoever runs the unit looks at the divergence first.
                _ if chooser.diverged().is_some() => return Err(Early::Stopped),
                Some(Failure::Stop) => return Err(Early::Stopped),
                Some(Failure::Violation(violation)) => return Err(Early::Violated(violation, place)),
                Some(Failure::Broken(why)) => return Err(Early::Broken(why)),
                None => {}
            }
            if explored {
                reached(checker.as_ref(), chooser, depth + 1)?;
            }
        }
        if self.chops.is_last(depths) {
            place.chops += 1;
            about_to(place.chop(), chooser.made(), *operations, place);
            (stack, _) = self.chop(stack, checker.as_mut(), pipeline).map_err(|error| broken(&error))?;
        }
        about_to(Step::Finish, chooser.made(), *operations, place);
        checker.finish(&stack).map_err(|fault| broken(&fault))?;
        // What goes away now is unmounted where it must be.
        drop(checker);
        drop(stack);
        about_to(Step::Between, chooser.made(), *operations, place);
        Ok(())
    }

    /// A stack that is started on these disks; `mounts` hears when it is mounted.
    fn start_on(&self, image: Image, mounts: impl Fn()) -> Result<Stack, RunError> {
        let Runner { registry, plan, lab, .. } = self;
        let recording = if plan.settings.soft { Recording::Operations } else { Recording::On };
        let mut stack = build(registry, plan, lab, image, recording)?;
        mounts();
        let started =
            stack.start().and_then(|()| lab.settle(&stack.threads())).and_then(|()| between::quiesce(&stack));
        started.map_err(|fault| RunError::Broken(fault.to_string()))?;
        Ok(stack)
    }

    /// Puts a stack to rest, and starts one on the disks that it leaves.
    fn chop(
        &self,
        mut stack: Stack,
        checker: &mut dyn Checker,
        pipeline: &RefCell<Pipeline<'_>>,
    ) -> Result<(Stack, Image), RunError> {
        let rest = checker.chop(&stack).and_then(|()| stack.stop());
        let image = rest.and_then(|()| pipeline.borrow_mut().follow(stack.devices()));
        let image = image.and_then(|()| stack.devices().image());
        let image = image.map_err(|fault| RunError::Broken(format!("a chop failed: {fault}")))?;
        // There is one set of devices for the system that is being driven.
        drop(stack);
        pipeline.borrow_mut().chop(image.clone());
        Ok((self.start_on(image.clone(), || ())?, image))
    }
}

/// What the checker says of the state; by default the way to it, so that no two states are equal (EX-20).
fn signature(bytes: Option<&[u8]>, chooser: &Chooser, depth: u32) -> u128 {
    let way = || [&chooser.hash().to_le_bytes()[..], &depth.to_le_bytes()].concat();
    let mut signature = bytes.map_or_else(way, <[u8]>::to_vec);
    // What has gone bad is part of the state, and no checker's affair.
    media::faults(chooser.made()).for_each(|fault| signature.extend(fault.as_bytes()));
    // Likewise what has failed, or ended late: there is less that may from here on.
    diverted(chooser.made()).for_each(|choice| {
        signature.extend(choice.label.to_string().as_bytes());
        signature.extend(choice.value.to_le_bytes());
    });
    // And what the kernel has done on its own.
    ran(chooser.made()).for_each(|(call, what)| signature.extend(format!("{call}: {what};").as_bytes()));
    xxh3_128(&signature)
}
