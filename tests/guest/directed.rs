//! A run of named steps of a checker, with all crash disks of the last one.

use explode_ramdisk::{Event, SECTOR_BYTES};
use explode_runtime::check::CrashRequest;
use explode_runtime::choose::{Choice, ChoicePoint};
use explode_runtime::crash::KeptPiece;
use explode_runtime::devices::Backend;
use explode_runtime::explore::{ReachedState, State, Unit};
use explode_runtime::judge::{Check, CheckEnding, Crash, CrashPipeline, JudgeHooks, check_once};
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::stack::Stack;
use explode_runtime::trace::{FoundError, Trace, Witness};
use explode_runtime::unit::{Runner, UnitHooks, UnitProgress, UnitStop};
use explode_runtime::verdict::{CheckError, Violation};

use crate::common::steps;

/// The results of such a run.
#[derive(Default)]
pub struct Seen {
    /// The errors in order, each with the pieces that its disk has kept.
    pub errors: Vec<(Violation, Vec<KeptPiece>)>,
    /// The trace of each error.
    pub traces: Vec<Trace>,
    /// The number of crash disks checked.
    pub checked: u64,
    /// Every event.
    pub events: Vec<Event>,
    /// Every choice.
    pub choices: Vec<Choice>,
}

impl Seen {
    /// Returns true if the kept version was dirty and never submitted. (The syncs of the steps
    /// flush every submitted version.)
    pub fn is_only_dirty(&self, kept: &KeptPiece) -> bool {
        let here = |dev: u32, sector: u64, bytes: u64| {
            dev == kept.dev && (sector..sector + bytes / SECTOR_BYTES as u64).contains(&kept.sector)
        };
        let mut dirty_since = 0;
        for event in &self.events {
            match event {
                Event::Dirty { dev, sector, data } if here(*dev, *sector, data.len() as u64) => {
                    dirty_since += 1
                }
                Event::Submit { dev, sector, payload, .. }
                    if here(*dev, *sector, payload.len()) =>
                {
                    dirty_since = 0
                }
                _ => {}
            }
        }
        kept.version <= dirty_since
    }
}

/// The word for the last name of a choice.
pub const LAST: &str = "the last one";

/// Runs these steps, one per mutate. Checks the crashes of the last one.
pub fn go(registry: &Registry, plan: &Plan, backend: &dyn Backend, steps: &[&str]) -> Seen {
    go_on(registry, plan, backend, steps, steps.len() as u32)
}

/// Runs `mutates` mutates. The steps may also answer other choices of theirs.
pub fn go_on(
    registry: &Registry,
    plan: &Plan,
    backend: &dyn Backend,
    steps: &[&str],
    mutates: u32,
) -> Seen {
    go_by(registry, plan, backend, &[], steps, mutates)
}

/// Runs the answers of a script first, then the steps.
pub fn go_by(
    registry: &Registry,
    plan: &Plan,
    backend: &dyn Backend,
    script: &[Choice],
    steps: &[&str],
    mutates: u32,
) -> Seen {
    let mut plan = plan.clone();
    plan.settings.depth = mutates;
    let plan = &plan;
    let mut runner = Runner::start(registry, plan, backend).expect("the stack starts");
    runner.keep_events();
    let unit = Unit { mutates, ..Unit::one(State::default(), script.to_vec()) };
    let mut look = Look {
        plan,
        left: steps.iter(),
        runner_origin: runner.origin().clone(),
        last: mutates,
        choices: Vec::new(),
        seen: Seen::default(),
    };
    let ended = runner.run(&unit, &mut look);
    match ended.early {
        None | Some(UnitStop::Stopped) => {}
        Some(other) => panic!("the way ended early: {other:?}"),
    }
    Seen { events: ended.events, choices: ended.choices, ..look.seen }
}

struct Look<'a> {
    plan: &'a Plan,
    left: std::slice::Iter<'a, &'a str>,
    runner_origin: explode_runtime::plan::RunOrigin,
    last: u32,
    choices: Vec<Choice>,
    seen: Seen,
}

impl UnitHooks for Look<'_> {
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let wanted = self.left.next().expect("a step for each choice");
        if *wanted == LAST {
            return point.options - 1;
        }
        steps::named(point, wanted)
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        ask: &CrashRequest<'_>,
        so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        let place = so_far.place;
        if place.mutates < self.last {
            return Ok(pipeline.skip(stack.devices(), ask.when)?);
        }
        self.choices = so_far.choices.to_vec();
        let judge = pipeline.judge();
        let Look { plan, runner_origin, choices, seen, .. } = self;
        pipeline.candidates(
            stack.devices(),
            ask,
            (place.interval, so_far.choices),
            |candidate| {
                seen.checked += 1;
                let crash = Crash::of(judge, ask, candidate, 0);
                let check = Check {
                    crash: &crash,
                    key: candidate.key,
                    disk: Some(candidate.disk),
                    before: &[],
                };
                let judged = check_once(&check, candidate.disk.image(), false, &mut NoHooks);
                match judged.ending {
                    CheckEnding::Ok | CheckEnding::Repaired => {}
                    CheckEnding::Broken(why) => panic!("a check could not be made: {why}"),
                    CheckEnding::Stopped => panic!("nobody has stopped the check"),
                    CheckEnding::Violated(violation) => {
                        let kept = candidate.disk.kept();
                        let error = FoundError {
                            violation: violation.clone(),
                            by_design: None,
                            died: None,
                            way: Witness {
                                epoch: Some(candidate.epoch),
                                args: candidate.args.to_vec(),
                                disk: Some((candidate.disk.identity().to_string(), kept.clone())),
                                recovery: Vec::new(),
                                choices: choices.clone(),
                                place,
                                log_hash: candidate.log_hash,
                            },
                        };
                        seen.traces.push(Trace::of(plan, runner_origin, &error));
                        seen.errors.push((violation, kept));
                    }
                }
            },
        )?;
        Ok(())
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        true
    }
}

struct NoHooks;

impl JudgeHooks for NoHooks {}
