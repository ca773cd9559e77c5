//! Running a unit of work: restore a state by replay, then call mutate (EX-48, EX-51, EX-52).

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use explode_ramdisk::{Event, Image, Recording};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::chops::{Cache, Chopped, Chops};
use super::error::RunError;
use super::options::UsageError;
use super::plan::{Mode, Plan};
use super::registry::Registry;
use super::tell::versions;
use super::worker::{Step, StepName, as_json};
use crate::between::{self, ran};
use crate::check::{Ask, Checker, Cx, Failure, NOT_PROMISED, Profile, Violation};
use crate::choose::{Choice, Chooser, Divergence, Point};
use crate::crash::{Epoch, Kept};
use crate::devices::{Lab, Side};
use crate::explore::{Arrival, Unit};
use crate::failures::{HandOver, Turn, diverted, failed};
use crate::media;
use crate::pipeline::{Pipeline, panic_message};
use crate::recover::Stack;
use crate::script::CallLog;
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
    leaves_out: Vec<String>,
    not_skipping: Option<String>,
    origin: Origin,
    keep_events: bool,
    chops: Chops,
    chopped: RefCell<Cache>,
}

/// Who makes the crash checks of a unit, hears of its states and answers its choices.
pub trait Work {
    /// The answer to a point past the end of the script.
    fn fallback(&mut self, point: &Point<'_>) -> u32;

    /// The answers that it will give next, as far as they are known: the kernel's own choices cannot wait for them.
    fn ahead(&self) -> Vec<Choice> {
        Vec::new()
    }

    /// The kernel has chosen, past the end of the script and by what was known [`ahead`](Work::ahead), if anything.
    fn chosen(&mut self, _choice: &Choice) {}

    /// Where the calls on the stack are written down, if they are.
    fn log(&self) -> Option<CallLog> {
        None
    }

    /// Shall the unit end before its next step?
    fn stop(&mut self) -> bool {
        false
    }

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

    /// A mutate has returned, or the checker has begun (depth 0): in this state, whose signature has these bytes if the checker
    /// gives any. Shall the unit go on? The answer counts only if there are `more` mutates.
    fn reached(&mut self, arrival: Arrival, signature: Option<&[u8]>, more: bool) -> bool;
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
    /// Chops so far, one that goes on included.
    pub chops: u32,
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
        // Whoever drives the stack would find out later.
        if let Some(disks) = stack.devices().kernel() {
            disks.probe(&stack.failures())?;
        }
        let (profile, mut hides) = (stack.profile(), stack.hides());
        if plan.settings.soft {
            may_crash_softly(&stack)?;
            hides = stack.hides_softly();
        }
        let not_skipping = not_skipping(registry, plan, &stack)?;
        let checker = registry.checker_of(plan)?.make(&plan.checker_options)?;
        let empty = profile.as_ref().and_then(|profile| {
            let line = profile.excludes_all(&checker.about())?;
            Some(format!("{NOT_PROMISED}: {}", profile.cite(line)))
        });
        let strange = stack.begins_with_files() && !checker.begins_with_files();
        let strange =
            strange.then(|| "its files begin with some, and this checker with none; use fs-ways".to_owned());
        let unsupported = checker.unsupported(&stack).or(empty).or(strange);
        stack.stop().map_err(broken)?;
        if let Some(what) = unsupported {
            return Err(RunError::Missing(format!("unsupported: {what}")));
        }
        let versions = versions(stack.versions());
        let pristine = stack.devices().image().map_err(broken)?;
        drop(stack);
        let leaves_out = if checker.probes() {
            let mut stack = build(registry, plan, lab, pristine.clone(), Recording::Off)?;
            stack.start().map_err(broken)?;
            let probed = checker.probe(&stack).map_err(broken)?;
            stack.stop().map_err(broken)?;
            probed
        } else {
            Vec::new()
        };
        let origin = Origin { versions, pristine: pristine.identity().to_string() };
        let (chops, chopped) = (Chops::of(plan.settings.chop), RefCell::default());
        Ok(Runner {
            registry,
            plan,
            lab,
            pristine,
            profile,
            hides,
            leaves_out,
            not_skipping,
            origin,
            keep_events: false,
            chops,
            chopped,
        })
    }

    /// What the stack promises.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// What the stack keeps where no event shows it.
    pub fn hides(&self) -> &[(String, &'static str)] {
        &self.hides
    }

    /// What the stack does not have, and the checker does without.
    pub fn leaves_out(&self) -> &[String] {
        &self.leaves_out
    }

    /// Why every check has to be made; none if one can stand for another.
    pub fn not_skipping(&self) -> Option<&str> {
        self.not_skipping.as_deref()
    }

    /// From now on units end with their events, and each is run from the pristine disks on.
    pub fn keep_events(&mut self) {
        self.keep_events = true;
    }

    /// From now on there are chops after these calls of mutate, whatever the plan says.
    pub fn chop_at(&mut self, mutates: &[u32]) {
        self.chops = Chops::At(mutates.to_vec());
    }

    /// The disks that every way begins with.
    pub fn pristine(&self) -> &Image {
        &self.pristine
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

impl Place {
    /// The call of mutate that is here.
    fn step(self) -> Step {
        Step::Mutate { mutates: self.mutates, interval: self.interval }
    }

    /// The chop that follows it.
    fn chop(self) -> Step {
        Step::Chop { mutates: self.mutates }
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

fn mutate(
    checker: &mut dyn Checker,
    stack: &Stack,
    chooser: &mut Chooser,
    fallback: &mut dyn FnMut(&Point<'_>) -> u32,
    pipeline: &RefCell<Pipeline<'_>>,
    ask: &mut dyn FnMut(&Stack, &Ask<'_>) -> Result<(), Failure>,
    turn: &mut dyn FnMut(Turn, &mut Chooser),
) -> Result<(), Failure> {
    // The first contradiction of the log: from there on the write set is wrong, and no disk of it is looked at.
    let contradiction = RefCell::new(None);
    let mut begin = |stack: &Stack| {
        if let Err(error) = pipeline.borrow_mut().begin(stack.devices()) {
            contradiction.borrow_mut().get_or_insert(error);
        }
    };
    // What the crash checks themselves could not do is never excused.
    let unchecked = RefCell::new(None);
    let mut ask = |stack: &Stack, request: &Ask<'_>| match *contradiction.borrow() {
        Some(_) => Err(Failure::Stop),
        None => ask(stack, request).inspect_err(|failure| {
            if let Failure::Broken(why) = failure {
                unchecked.borrow_mut().get_or_insert_with(|| why.clone());
            }
        }),
    };
    let mut cx = Cx::new(stack, chooser, fallback, &mut begin, &mut ask, turn);
    cx.hand_over();
    let result = catch_unwind(AssertUnwindSafe(|| checker.mutate(&mut cx)));
    cx.take_back();
    drop(cx);
    let made = chooser.made();
    let has_gone_bad = media::faults(made).next().is_some() || failed(made).next().is_some();
    if let Some(why) = unchecked.into_inner() {
        return Err(Failure::Broken(why));
    }
    match contradiction.into_inner() {
        Some(fault) => Err(fault.into()),
        // What cannot be done after a block has gone bad, or a function has failed, says nothing; there is no way on from here.
        None if has_gone_bad && matches!(result, Ok(Err(Failure::Broken(_)))) => Err(Failure::Stop),
        None => result.unwrap_or_else(|panic| {
            Err(Failure::Broken(format!("mutate panicked: {}", panic_message(panic.as_ref()))))
        }),
    }
}

/// Soft crashes on a kernel repeat the calls on a file system, and know nothing else.
fn may_crash_softly(stack: &Stack) -> Result<(), UsageError> {
    let why = match stack.devices().kernel() {
        Some(_) if !stack.has_file_system() => {
            "need a file system of the kernel that a layer of the stack mounts"
        }
        Some(_) if stack.may_go_bad() => {
            "do not go together with blocks that go bad; leave --set faults away"
        }
        _ => return Ok(()),
    };
    Err(UsageError(format!("soft crashes in a guest or on this machine's kernel {why}")))
}

/// Why no check can stand for another, if that is so.
fn not_skipping(registry: &Registry, plan: &Plan, stack: &Stack) -> Result<Option<String>, RunError> {
    if !plan.settings.skip {
        return Ok(Some("--no-skip".to_owned()));
    }
    if plan.mode == Mode::Here {
        return Ok(Some(
            "--in here, where other programs may keep a disk open, and its cache warm".to_owned(),
        ));
    }
    let elsewhere = |who: &str, name: &str| format!("{who} '{name}' may depend on more than its disks");
    if let Some(layer) = stack.not_skipping() {
        return Ok(Some(elsewhere("component", layer)));
    }
    if stack.may_go_bad() {
        return Ok(Some("blocks that may go bad".to_owned()));
    }
    let checker = registry.checker_of(plan)?.make(&plan.checker_options)?;
    Ok((!checker.skipping()).then(|| elsewhere("checker", &plan.checker)))
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
