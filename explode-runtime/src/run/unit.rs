//! Running a unit of work: restore a state by replay, then call mutate (EX-48, EX-51, EX-52).

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use explode_ramdisk::{Event, Image, Recording};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::error::RunError;
use super::plan::Plan;
use super::registry::Registry;
use super::tell::versions;
use super::worker::{Step, StepName, as_json};
use crate::check::{Ask, Checker, Cx, Failure, Profile, Violation};
use crate::choose::{Choice, Chooser, Divergence, Point};
use crate::crash::{Epoch, Kept};
use crate::devices::{Lab, Side};
use crate::explore::Unit;
use crate::media;
use crate::pipeline::{Pipeline, panic_message};
use crate::recover::Stack;
use crate::trace::Origin;

/// Runs units of one plan, each on its own stack, from the pristine disks that it made once.
#[derive(Debug)]
pub struct Runner<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    lab: &'a Lab,
    pristine: Image,
    profile: Option<Profile>,
    hides: Vec<(String, &'static str)>,
    origin: Origin,
    keep_events: bool,
}

/// Who makes the crash checks of a unit, hears of its states and answers its choices.
pub trait Work {
    /// The answer to a point past the end of the script.
    fn fallback(&mut self, point: &Point<'_>) -> u32;

    /// A step that may hang, or end this process, comes next.
    fn about_to(&mut self, _step: Step, _so_far: &SoFar<'_>) {}

    /// A checker asks for crash checks, in a mutate that is being explored.
    ///
    /// # Errors
    /// [`Failure::Stop`] when this state is not to be explored further.
    fn crashes(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        stack: &Stack,
        ask: &Ask<'_>,
        so_far: &SoFar<'_>,
    ) -> Result<(), Failure>;

    /// A mutate has returned, or the checker has begun (depth 0), in a state of this signature. Shall the unit go on? The answer
    /// counts only if there are `more` mutates.
    fn reached(&mut self, signature: u128, depth: u32, more: bool) -> bool;
}

/// How far a unit is.
#[derive(Clone, Copy, Debug)]
pub struct SoFar<'a> {
    /// Every choice made.
    pub choices: &'a [Choice],
    /// Calls of mutate that were explored.
    pub operations: u64,
    /// Where it is.
    pub place: Place,
}

/// Where in a run something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Calls of mutate so far, the current one included.
    pub mutates: u32,
    /// Index of the request for crash checks, from the beginning of the run.
    pub interval: u64,
}

/// How a unit ended.
#[derive(Debug)]
pub struct Ended {
    /// Every choice made.
    pub choices: Vec<Choice>,
    /// Calls of mutate that were explored.
    pub operations: u64,
    /// What ended it early, if anything did.
    pub early: Option<Early>,
    /// Every event from the pristine disks on, up to the last look at the log; empty unless they are kept.
    pub events: Vec<Event>,
}

/// Why a unit ended before its last mutate returned.
#[derive(Debug)]
pub enum Early {
    /// Crash checks have found something, or the unit was told not to go on.
    Stopped,
    /// A mutate has seen a broken promise itself, without a crash.
    Violated(Violation, Place),
    /// It did not go the way of its script.
    Diverged(Box<Divergence>),
    /// The checker, a component or the tool failed.
    Broken(String),
}

/// A violation with all that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFound {
    /// What is wrong.
    pub violation: Violation,
    /// The profile's line that excludes it, with its source, if there is one.
    pub by_design: Option<String>,
    /// The step that has ended the worker, or hung; none if the worker itself has seen the violation.
    pub died: Option<StepName>,
    /// What leads to it.
    pub way: Way,
}

impl ErrorFound {
    /// Is a violation of the same kind?
    pub(super) fn is_like(&self, violation: &Violation) -> bool {
        (self.violation.verdict, &self.violation.promise) == (violation.verdict, &violation.promise)
    }
}

/// What leads to an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// The epoch of the check; none without a crash.
    pub epoch: Option<Epoch>,
    /// The check's arguments.
    pub args: Vec<String>,
    /// The crash disk's identity and what it has kept; none without a crash.
    pub disk: Option<(String, Vec<Kept>)>,
    /// The same of each crash during recovery that followed.
    pub recovery: Vec<(String, Vec<Kept>)>,
    /// Every choice from the pristine disks on.
    #[serde(with = "as_json")]
    pub choices: Vec<Choice>,
    /// Where.
    pub place: Place,
    /// The hash of all events up to there.
    pub log_hash: u128,
}

impl<'a> Runner<'a> {
    /// The first start: makes the system, puts it to rest, and keeps its disks.
    ///
    /// # Errors
    /// Wrong names and options, or a component that cannot even start.
    pub fn start(registry: &'a Registry, plan: &'a Plan, lab: &'a Lab) -> Result<Runner<'a>, RunError> {
        plan.check(registry)?;
        let mut stack = build(registry, plan, lab, Image::new(), Recording::Off)?;
        let broken = |fault| RunError::Broken(format!("the first start failed: {fault}"));
        stack.start_first().map_err(broken)?;
        let (profile, hides) = (stack.profile(), stack.hides());
        stack.stop().map_err(broken)?;
        let versions = versions(stack.versions());
        let pristine = stack.devices().image().map_err(broken)?;
        let origin = Origin { versions, pristine: pristine.identity().to_string() };
        Ok(Runner { registry, plan, lab, pristine, profile, hides, origin, keep_events: false })
    }

    /// What the stack promises.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// What the stack keeps where no event shows it.
    pub fn hides(&self) -> &[(String, &'static str)] {
        &self.hides
    }

    /// From now on units end with their events.
    pub fn keep_events(&mut self) {
        self.keep_events = true;
    }

    /// What it began with.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Runs a unit. The mutates of its state are replayed without checks; `work` does the checks of the others.
    pub fn run(&self, unit: &Unit, work: &mut dyn Work) -> Ended {
        let mut script = unit.state.choices.clone();
        script.extend(unit.script.iter().cloned());
        let mut chooser = Chooser::new(script);
        let mut operations = 0;
        let mut pipeline = Pipeline::new(self.registry, self.plan, self.lab, self.pristine.clone());
        if self.keep_events {
            pipeline.keep_events();
        }
        let pipeline = RefCell::new(pipeline);
        let early =
            self.run_to_end(unit, &mut chooser, &RefCell::new(work), &mut operations, &pipeline).err();
        if early.is_none() {
            chooser.finish();
        }
        let early =
            chooser.diverged().cloned().map(|divergence| Early::Diverged(Box::new(divergence))).or(early);
        let events = pipeline.into_inner().into_events();
        Ended { choices: chooser.made().to_vec(), operations, early, events }
    }

    fn run_to_end(
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
        let Runner { registry, plan, lab, pristine, .. } = self;
        about_to(Step::Between, &[], 0, place);
        let recording = if plan.settings.soft { Recording::Operations } else { Recording::On };
        let stack = build(registry, plan, lab, pristine.clone(), recording);
        let mut stack = stack.map_err(|error| broken(&error))?;
        about_to(Step::Start, &[], 0, place);
        stack.start().and_then(|()| lab.settle()).map_err(|fault| broken(&fault))?;
        let def = self.registry.checker_of(self.plan).map_err(|error| broken(&error))?;
        let mut checker = def.make(&self.plan.checker_options).map_err(|error| broken(&error))?;
        about_to(Step::Init, &[], 0, place);
        checker.init(&stack).map_err(|fault| broken(&fault))?;
        let depths = unit.state.depth + unit.mutates;
        let reached = |checker: &dyn Checker, chooser: &Chooser, depth: u32| {
            let go_on = work.borrow_mut().reached(signature(checker, chooser, depth), depth, depth < depths);
            if go_on || depth == depths { Ok(()) } else { Err(Early::Stopped) }
        };
        if unit.state.depth == 0 {
            reached(checker.as_ref(), chooser, 0)?;
        }
        for depth in 0..depths {
            let explored = depth >= unit.state.depth;
            place.mutates = depth + 1;
            *operations += u64::from(explored);
            let operations = *operations;
            about_to(place.step(), chooser.made(), operations, place);
            let mut fallback = |point: &Point<'_>| work.borrow_mut().fallback(point);
            let seed = self.plan.settings.seed;
            media::choose(&stack, &mut pipeline.borrow_mut(), chooser, &mut fallback, seed)
                .map_err(|fault| broken(&fault))?;
            let mut ask = |stack: &Stack, ask: &Ask<'_>| {
                let here = SoFar { choices: ask.chooser.made(), operations, place };
                place.interval += 1;
                // After a divergence nothing says anything any more.
                let asked = if ask.chooser.diverged().is_some() {
                    Err(Failure::Stop)
                } else if explored {
                    work.borrow_mut().crashes(&mut pipeline.borrow_mut(), stack, ask, &here)
                } else {
                    Ok(pipeline.borrow_mut().skip(stack.devices(), ask.when)?)
                };
                about_to(place.step(), here.choices, operations, place);
                asked
            };
            let failed = mutate(checker.as_mut(), &stack, chooser, &mut fallback, pipeline, &mut ask).err();
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
        about_to(Step::Finish, chooser.made(), *operations, place);
        checker.finish(&stack).map_err(|fault| broken(&fault))?;
        // What goes away now is unmounted where it must be.
        drop(checker);
        drop(stack);
        about_to(Step::Between, chooser.made(), *operations, place);
        Ok(())
    }
}

impl Place {
    /// The call of mutate that is here.
    fn step(self) -> Step {
        Step::Mutate { mutates: self.mutates, interval: self.interval }
    }
}

/// What the checker says of the state; by default the way to it, so that no two states are equal (EX-20).
fn signature(checker: &dyn Checker, chooser: &Chooser, depth: u32) -> u128 {
    let way = || [&chooser.hash().to_le_bytes()[..], &depth.to_le_bytes()].concat();
    let mut signature = checker.get_sig().unwrap_or_else(way);
    // What has gone bad is part of the state, and no checker's affair.
    media::faults(chooser.made()).for_each(|fault| signature.extend(fault.as_bytes()));
    xxh3_128(&signature)
}

fn mutate(
    checker: &mut dyn Checker,
    stack: &Stack,
    chooser: &mut Chooser,
    fallback: &mut dyn FnMut(&Point<'_>) -> u32,
    pipeline: &RefCell<Pipeline<'_>>,
    ask: &mut dyn FnMut(&Stack, &Ask<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // The first contradiction of the log: from there on the write set is wrong, and no disk of it is looked at.
    let contradiction = RefCell::new(None);
    let mut begin = |stack: &Stack| {
        if let Err(error) = pipeline.borrow_mut().begin(stack.devices()) {
            contradiction.borrow_mut().get_or_insert(error);
        }
    };
    let mut ask = |stack: &Stack, request: &Ask<'_>| match *contradiction.borrow() {
        Some(_) => Err(Failure::Stop),
        None => ask(stack, request),
    };
    let has_gone_bad = media::faults(chooser.made()).next().is_some();
    let mut cx = Cx::new(stack, chooser, fallback, &mut begin, &mut ask);
    let result = catch_unwind(AssertUnwindSafe(|| checker.mutate(&mut cx)));
    drop(cx);
    match contradiction.into_inner() {
        Some(fault) => Err(fault.into()),
        // What cannot be done after a block has gone bad says nothing; there is no way on from here.
        None if has_gone_bad && matches!(result, Ok(Err(Failure::Broken(_)))) => Err(Failure::Stop),
        None => result.unwrap_or_else(|panic| {
            Err(Failure::Broken(format!("mutate panicked: {}", panic_message(panic.as_ref()))))
        }),
    }
}

fn build(
    registry: &Registry,
    plan: &Plan,
    lab: &Lab,
    image: Image,
    recording: Recording,
) -> Result<Stack, RunError> {
    let Plan { stack, settings, .. } = plan;
    let devices = lab.devices(Side::Live, image, recording, settings.seed);
    Ok(Stack::build(stack, registry, devices, settings.rules, settings.seed)?)
}
