//! A cluster as a system of the engine: units of walks by the thousand, and single runs whose
//! choices have texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use explode_ramdisk::Image;
use explode_runtime::base::{BrokenKind, ExactCount, RunError, TallyGroup};
use explode_runtime::choose::{Choice, Chooser, Policy};
use explode_runtime::crash::{SampleLimits, SampleSeed};
use explode_runtime::explore::{ReachedState, Unit};
use explode_runtime::plan::{Plan, Registry, RunOrigin};
use explode_runtime::report::REACHED;
use explode_runtime::trace::{Position, Witness};
use explode_runtime::unit::{
    System, SystemFacts, UnitHooks, UnitProgress, UnitRun, UnitStop, WalkEnd,
};
use explode_runtime::verdict::{Verdict, Violation, WorkerStep};
use tracing::field::Empty;
use tracing::{debug_span, info_span};
use xxhash_rust::xxh3::xxh3_128;

use crate::ask::{Ask, BareWalk, MadeChoice, RecordedWalk, RepeatedWalk, Scripted, identity};
use crate::fault::{FaultBudget, faults_in};
use crate::fresh::apart;
use crate::node::Node;
use crate::setup::Setup;
use crate::world::{DiskLimits, Stepped, World};

/// One walk of this many is run twice, to find systems that are not deterministic.
const TWICE: u64 = 64;
/// The number of steps between two looks at whether the run must end.
const PATIENCE: u32 = 64;

/// The usual causes of a difference between two runs of one walk.
const CAUSES: &str = "usual causes: the order of a HashMap, a clock, a random number, a thread, \
                      a static variable; a node may use nothing but its host";

/// A cluster as a system of the engine.
pub struct ClusterSystem<'a, N: Node> {
    setup: Arc<Setup<N>>,
    registry: &'a Registry,
    limits: DiskLimits,
    faults: FaultBudget,
    depth: u32,
    pristine: Image,
    origin: RunOrigin,
}

/// The end of a walk in the world.
struct Walked<'s, N: Node> {
    world: World<'s, N>,
    end: WalkedTo,
}

/// The way in which a walk ended.
#[derive(Debug, PartialEq)]
enum WalkedTo {
    /// All steps were made, or nothing could happen any more.
    End,
    /// A promise was broken.
    Violated(Violation),
    /// The walk was stopped.
    Stopped,
}

impl<'a, N: Node> ClusterSystem<'a, N> {
    /// Opens a cluster for a plan.
    ///
    /// # Errors
    /// The rules of the disks cannot be used.
    pub fn open(
        setup: &Arc<Setup<N>>,
        versions: &[(String, String)],
        registry: &'a Registry,
        plan: &Plan,
    ) -> Result<ClusterSystem<'a, N>, RunError> {
        let settings = &plan.settings;
        let seed = SampleSeed { seed: settings.seed, ..SampleSeed::default() };
        let sample = SampleLimits { limit: settings.limit, samples: settings.samples, seed };
        let limits = DiskLimits { rules: settings.rules, sample };
        // A wrong rule is reported before any walk.
        World::new(setup, limits, settings.depth, false).map_err(RunError::from)?;
        let faults = faults_in(&plan.checker_options)?.unwrap_or(setup.faults);
        let pristine = Image::new();
        let ours = ("explode".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let versions: BTreeMap<String, String> = versions.iter().cloned().chain([ours]).collect();
        let plan = plan.completed(registry)?;
        let origin = RunOrigin {
            versions,
            pristine: pristine.identity().to_string(),
            stack: plan.stack,
            checker_defaults: plan.checker_options,
        };
        let (setup, depth) = (Arc::clone(setup), settings.depth);
        Ok(ClusterSystem { setup, registry, limits, faults, depth, pristine, origin })
    }

    /// Returns a world before its first step.
    fn world(&self, tells: bool) -> World<'_, N> {
        let world = World::new(&self.setup, self.limits, self.depth, tells);
        world.expect("a world was made with these rules before").with_faults(self.faults)
    }

    /// Makes a walk of at most `steps` steps.
    fn walk(&self, steps: u32, tells: bool, ask: &mut dyn Ask) -> Walked<'_, N> {
        let mut world = self.world(tells);
        let mut end = WalkedTo::End;
        for step in 1..=steps {
            if !ask.before_step(step) {
                end = WalkedTo::Stopped;
                break;
            }
            match world.step(ask) {
                Ok(Stepped::Done) => {}
                Ok(Stepped::Stuck) => break,
                Err(violation) => {
                    end = WalkedTo::Violated(violation);
                    break;
                }
            }
        }
        Walked { world, end }
    }

    /// Makes the walks of a unit.
    fn walks(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun {
        let mut operations = 0;
        let mut made = Vec::new();
        for further in 0..=u64::from(unit.further_walks) {
            if work.stop() {
                return ended(operations, Some(UnitStop::Stopped));
            }
            let number = number(&unit.policy, further);
            let span = debug_span!("walk", number, steps = Empty).entered();
            let before = operations;
            let used = std::mem::take(&mut made);
            let walk = || self.one_of_many(unit, further, used, operations, work);
            match apart(N::BEGINS_THREAD, walk) {
                Ok((used, steps, goes_on)) => {
                    span.record("steps", steps);
                    (made, operations) = (used, before + u64::from(steps));
                    if !goes_on {
                        return ended(operations, None);
                    }
                }
                Err(stop) => return ended(operations, Some(stop)),
            }
        }
        ended(operations, None)
    }

    /// Makes a walk of a unit. Returns the memory of its choices, its number of steps, and whether
    /// the unit continues.
    fn one_of_many(
        &self,
        unit: &Unit,
        further: u64,
        mut made: Vec<MadeChoice>,
        operations: u64,
        work: &mut dyn UnitHooks,
    ) -> Result<(Vec<MadeChoice>, u32, bool), UnitStop> {
        let wrong = |error: &dyn std::fmt::Display| UnitStop::Broken(BrokenKind::Tool.of(error));
        let answers = self.registry.policies.walk_answers(&unit.policy, further);
        let mut answers = answers.map_err(|error| wrong(&error))?;
        if wants_choices(work) {
            apart(N::BEGINS_THREAD, || self.named_walk(unit, further, operations, work))?;
        }
        made.clear();
        let mut before = |step: u32| {
            announce(work, (step, further), operations, &[]);
            !step.is_multiple_of(PATIENCE) || !work.stop()
        };
        let mut bare = BareWalk::new(&mut *answers, made, &mut before);
        let Walked { world, end } = self.walk(unit.mutates, false, &mut bare);
        let made = bare.made;
        if end == WalkedTo::Stopped {
            return Err(UnitStop::Stopped);
        }
        if number(&unit.policy, further).is_multiple_of(TWICE) {
            apart(N::BEGINS_THREAD, || self.repeat(unit, &made, (&world, &end), further, work));
        }
        tally(&world, work);
        let steps = world.steps();
        let violation = match end {
            WalkedTo::Violated(Violation { verdict: Verdict::Broken, message, .. }) => {
                return Err(UnitStop::Broken(BrokenKind::Component.of(message)));
            }
            WalkedTo::Violated(violation) => {
                let way = apart(N::BEGINS_THREAD, || self.way_to(&violation, steps, &made));
                way.map_or_else(
                    |why| {
                        broken(work, &format!("walk {}: {why}", number(&unit.policy, further)));
                        None
                    },
                    |witness| Some((violation, witness)),
                )
            }
            _ => None,
        };
        let walk =
            WalkEnd { signature: identity(&made), steps, choices: made.len() as u64, violation };
        let goes_on = work.walks().is_none_or(|walks| walks.walked(walk));
        Ok((made, steps, goes_on))
    }

    /// Makes a walk of a unit in which a worker has died: it reports its choices as they are made.
    fn named_walk(
        &self,
        unit: &Unit,
        further: u64,
        operations: u64,
        work: &mut dyn UnitHooks,
    ) -> Result<(), UnitStop> {
        let answers = self.registry.policies.walk_answers(&unit.policy, further);
        let mut answers = answers.map_err(|error| UnitStop::Broken(BrokenKind::Tool.of(error)))?;
        if let Some(walks) = work.walks() {
            walks.next_walk();
        }
        let work = std::cell::RefCell::new(work);
        let mut heard = |choice: &Choice| work.borrow_mut().chosen(choice);
        let mut before = |step: u32, made: &[Choice]| {
            announce(&mut **work.borrow_mut(), (step, further), operations, made);
            true
        };
        let mut ask = RecordedWalk::by(&mut *answers, &mut heard, &mut before);
        self.walk(unit.mutates, false, &mut ask);
        Ok(())
    }

    /// Makes a walk again and compares it with the first time.
    fn repeat(
        &self,
        unit: &Unit,
        made: &[MadeChoice],
        (world, end): (&World<'_, N>, &WalkedTo),
        further: u64,
        work: &mut dyn UnitHooks,
    ) {
        let _span = debug_span!("repeat").entered();
        let mut again = RepeatedWalk::new(made);
        let second = self.walk(unit.mutates, false, &mut again);
        again.finish();
        let other = || {
            let same = second.world.counts() == world.counts() && second.end == *end;
            (!same).then(|| "the choices are the same, and the walk ends in another way".to_owned())
        };
        if let Some(difference) = again.difference.clone().or_else(other) {
            let walk = number(&unit.policy, further);
            broken(
                work,
                &format!("walk {walk} took another path when it was run again: {difference}"),
            );
        }
    }

    /// Returns the way to a violation, with the texts of its choices.
    fn way_to(
        &self,
        violation: &Violation,
        steps: u32,
        made: &[MadeChoice],
    ) -> Result<Witness, String> {
        let _span = debug_span!("name_choices").entered();
        let mut before = |_: u32, _: &[Choice]| true;
        let mut ask = RecordedWalk::of(made, &mut before);
        let again = self.walk(steps, false, &mut ask);
        if again.end != WalkedTo::Violated(violation.clone()) || ask.choices().len() != made.len() {
            return Err(format!(
                "it violated {}, and not when it was run again",
                violation.promise
            ));
        }
        let place = Position { mutates: steps, ..Position::default() };
        Ok(Witness { choices: ask.choices().to_vec(), place, ..Witness::default() })
    }

    /// Makes a run whose choices come from the script of a unit, then from its caller.
    fn scripted(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun {
        let script = unit.state.choices.iter().chain(&unit.script).cloned().collect();
        let (known, tells) = (unit.state.depth, work.wants_story());
        let mut ask = Scripted { chooser: Chooser::new(script), work, explored: 0, known };
        let mut world = self.world(tells);
        let early = self.scripted_steps(unit, &mut world, &mut ask).err();
        let Scripted { mut chooser, work, explored, .. } = ask;
        if early.is_none() {
            chooser.finish();
        }
        if tells {
            work.tell(world.story());
        }
        let diverged = chooser.diverged().cloned();
        let early = diverged.map(|divergence| UnitStop::Diverged(Box::new(divergence))).or(early);
        let choices = chooser.made().to_vec();
        UnitRun { choices, operations: explored, early, events: Vec::new() }
    }

    fn scripted_steps(
        &self,
        unit: &Unit,
        world: &mut World<'_, N>,
        ask: &mut Scripted<'_>,
    ) -> Result<(), UnitStop> {
        let known = unit.state.depth;
        let last = known + unit.mutates;
        if known == 0 {
            reached(world, ask, 0, last)?;
        }
        let mut counted = world.counts().clone();
        // True for each `sometimes` that was reached so far, which is then not counted again.
        let mut before: Vec<bool> = world.reached().map(|(_, is_reached)| is_reached).collect();
        for step in 1..=last {
            if ask.work.stop() || !ask.before_step(step) {
                return Err(UnitStop::Stopped);
            }
            let stepped = world.step(ask);
            if step == known {
                counted = world.counts().clone();
                before = world.reached().map(|(_, is_reached)| is_reached).collect();
            }
            let place = Position { mutates: step, ..Position::default() };
            match stepped {
                // The caller looks at a divergence first.
                _ if ask.chooser.diverged().is_some() => return Err(UnitStop::Stopped),
                Err(Violation { verdict: Verdict::Broken, message, .. }) => {
                    return Err(UnitStop::Broken(BrokenKind::Component.of(message)));
                }
                Err(violation) => return Err(UnitStop::Violated(violation, place)),
                Ok(Stepped::Stuck) => {
                    ask.explored -= u64::from(step > known);
                    return Ok(());
                }
                Ok(Stepped::Done) if step > known => {
                    count(world, &counted, ask.work);
                    for (at, (name, is_reached)) in world.reached().enumerate() {
                        let is_new = is_reached && !before[at];
                        ask.work.tally(REACHED, name, &ExactCount::from(u64::from(is_new)));
                        before[at] = is_reached;
                    }
                    counted = world.counts().clone();
                    reached(world, ask, step, last)?;
                }
                Ok(Stepped::Done) => {}
            }
        }
        Ok(())
    }
}

/// Reports a state.
fn reached<N: Node>(
    world: &World<'_, N>,
    ask: &mut Scripted<'_>,
    depth: u32,
    last: u32,
) -> Result<(), UnitStop> {
    let bytes = world.identity();
    let path = || [&ask.chooser.hash().to_le_bytes()[..], &depth.to_le_bytes()].concat();
    let signature = xxh3_128(&bytes.clone().unwrap_or_else(path));
    let choices = ask.chooser.made().len() as u64;
    let state = ReachedState { signature, depth, choices, sketch: None, topology: None };
    let more = depth < last;
    let goes_on = ask.work.reached(state, bytes.as_deref(), more);
    if goes_on || !more { Ok(()) } else { Err(UnitStop::Stopped) }
}

fn ended(operations: u64, early: Option<UnitStop>) -> UnitRun {
    UnitRun { choices: Vec::new(), operations, early, events: Vec::new() }
}

fn wants_choices(work: &mut dyn UnitHooks) -> bool {
    work.walks().is_some_and(|walks| walks.wants_choices())
}

fn broken(work: &mut dyn UnitHooks, why: &str) {
    if let Some(walks) = work.walks() {
        walks.broken(BrokenKind::NotReproduced.of(format!("{why}; {CAUSES}")));
    }
}

/// Announces a step of a walk.
fn announce(
    work: &mut dyn UnitHooks,
    (step, walk): (u32, u64),
    operations: u64,
    choices: &[Choice],
) {
    let place = Position { mutates: step, interval: walk, ..Position::default() };
    let so_far = UnitProgress { choices, operations, place };
    work.before(WorkerStep::Mutate { mutates: step, interval: walk }, &so_far);
}

/// Returns the number of a walk under a policy.
fn number(policy: &Policy, further: u64) -> u64 {
    match policy {
        Policy::Uniform { walk, .. } | Policy::Weighted { walk, .. } | Policy::Pct { walk, .. } => {
            walk + further
        }
        _ => further,
    }
}

/// Adds the counts of a whole walk to those of the run.
fn tally<N: Node>(world: &World<'_, N>, work: &mut dyn UnitHooks) {
    count(world, &Default::default(), work);
    for (name, is_reached) in world.reached() {
        work.tally(REACHED, name, &ExactCount::from(u64::from(is_reached)));
    }
    for name in world.undecided() {
        work.tally("undecided", name, &ExactCount::from(1));
    }
}

/// Adds what was counted since `before` to the counts of the run.
fn count<N: Node>(
    world: &World<'_, N>,
    before: &crate::world::WalkCounts,
    work: &mut dyn UnitHooks,
) {
    let counts = world.counts().since(before);
    work.crashed(&counts.disks, &counts.left_out);
    let mut tallies: Vec<TallyGroup> = Vec::new();
    counts.tallies(&mut tallies);
    for TallyGroup { name: group, tallies } in &tallies {
        tallies.iter().for_each(|(name, count)| work.tally(group, name, count));
    }
}

impl<N: Node> System for ClusterSystem<'_, N> {
    fn run(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun {
        let Unit { state, mutates, .. } = unit;
        let _span = info_span!("unit", id = %unit.id(), depth = state.depth, mutates).entered();
        let begins_anew = unit.state.depth == 0 && unit.script.is_empty();
        if begins_anew && unit.policy != Policy::First && work.walks().is_some() {
            self.walks(unit, work)
        } else {
            apart(N::BEGINS_THREAD, || self.scripted(unit, work))
        }
    }

    fn facts(&self) -> SystemFacts<'_> {
        SystemFacts {
            profile: None,
            unobserved: &[],
            unsupported_calls: &[],
            forecast: &[],
            why_every_check_is_made: Some("every walk of a cluster is checked"),
            pristine: &self.pristine,
            origin: &self.origin,
        }
    }

    fn keep_events(&mut self) {}

    fn chop_at(&mut self, _mutates: &[u32]) {}
}
