//! Replaying a trace: the same choices, the same disk, the same verdict (EX-4, EX-59, EX-60).

use std::collections::HashSet;

use explode_ramdisk::{Image, Recording};

use crate::base::RunError;
use crate::check::{Ask, DiskCheck};
use crate::choose::{Choice, Divergence, Point};
use crate::crash::{CrashDisk, names};
use crate::devices::Backend;
use crate::explore::{Arrival, State, Unit};
use crate::judge::{Candidate, Judge, Judgement, Pipeline, stood_still};
use crate::plan::Registry;
use crate::stack::Stack;
use crate::trace::{CrashDiskRecord, Replay, Trace, came_to_an_end};
use crate::unit::{Early, Runner, SoFar, Work};
use crate::verdict::{Failure, Step, Violation};

/// Replays a trace in this process, in this backend. A trace of a step that hangs or ends the process does so.
///
/// # Errors
/// A trace that names what is not there, or a component that cannot start.
pub fn replay(registry: &Registry, trace: &Trace, backend: &dyn Backend) -> Result<Replay, RunError> {
    replay_heard(registry, trace, backend, &|_| {})
}

/// The same; `hear` hears of each step before it is taken.
pub(crate) fn replay_heard(
    registry: &Registry,
    trace: &Trace,
    backend: &dyn Backend,
    hear: &dyn Fn(Step),
) -> Result<Replay, RunError> {
    let plan = trace.plan();
    let mut runner = Runner::start(registry, &plan, backend)?;
    runner.chop_at(&trace.chops);
    let unit = Unit { state: State::default(), script: trace.choices.clone(), mutates: trace.mutates };
    let mut search = Search { trace, hear, past_end: None, found: None, looked: None, by_search: false };
    let ended = runner.run(&unit, &mut search);
    let Search { past_end, found, looked, by_search, .. } = search;
    if let Some(divergence) = past_end {
        return Ok(Replay::Diverged(divergence));
    }
    match &ended.early {
        Some(Early::Diverged(divergence)) => return Ok(Replay::Diverged((**divergence).clone())),
        Some(Early::Broken(why)) => return Err(RunError::Broken(why.clone())),
        _ => {}
    }
    let index = ended.choices.len();
    if let Some(recorded) = trace.choices.get(index) {
        return Ok(Replay::Diverged(Divergence::unasked(index, recorded.clone())));
    }
    if let Some(step) = trace.died {
        return Ok(Replay::NotReproduced(came_to_an_end(step)));
    }
    Ok(match (ended.early, found, looked) {
        (Some(Early::Violated(violation, _)), _, _) => match trace.epoch {
            None if violation.signature(&trace.checker) == trace.signature => {
                Replay::Reproduced { violation, by_search: false }
            }
            _ => Replay::NotReproduced(format!("mutate itself found: {}", violation.message)),
        },
        (_, Some(violation), _) => Replay::Reproduced { violation, by_search },
        (_, None, _) if trace.epoch.is_none() => not_reproduced("mutate found nothing wrong"),
        (_, None, None) => not_reproduced("the request for crash checks that found it was not made"),
        (_, None, Some(0)) => {
            not_reproduced("no crash can leave the recorded disk in the recorded epoch, with these arguments")
        }
        (_, None, Some(looked)) => {
            Replay::NotReproduced(format!("{looked} crash disks looked at, none failed that way"))
        }
    })
}

fn not_reproduced(why: &str) -> Replay {
    Replay::NotReproduced(why.to_owned())
}

impl CrashDiskRecord {
    /// Is this the disk?
    pub(crate) fn is(&self, disk: &CrashDisk<'_>) -> bool {
        disk.identity().to_string() == self.id && names(&disk.kept()) == self.blocks
    }
}

/// Goes from a crash disk through crashes during recovery to the check.
#[derive(Clone, Copy)]
struct Way<'a> {
    judge: Judge<'a>,
    checker: &'a dyn DiskCheck,
    candidate: &'a Candidate<'a>,
    trace: &'a Trace,
    hear: &'a dyn Fn(Step),
    /// Only the recorded way will do; else any way of as many crashes.
    exactly: bool,
}

impl Way<'_> {
    /// The error at its end, if it is the trace's.
    fn look(self, image: Image, crashes_left: &[CrashDiskRecord]) -> Option<Violation> {
        let Way { judge, checker, candidate, trace, hear, exactly } = self;
        let Candidate { told, args, seed, key, .. } = candidate;
        let crashes = (trace.recovery.len() - crashes_left.len()) as u32;
        let mut announce = |stage| {
            hear(Step::Disk { key: *key, crashes, stage });
            true
        };
        let recording = if crashes_left.is_empty() { Recording::Off } else { Recording::On };
        let judged = judge.judge_announced(image.clone(), checker, *told, args, recording, &mut announce);
        hear(Step::Between);
        let Some((next, further)) = crashes_left.split_first() else {
            return match judged.judgement {
                Judgement::Violated(violation) if violation.signature(&trace.checker) == trace.signature => {
                    Some(violation)
                }
                _ => None,
            };
        };
        let mut found = None;
        let recovery = &judged.recovery;
        let mut look = |disk: &CrashDisk<'_>| {
            if found.is_none() && (!exactly || next.is(disk)) {
                found = self.look(disk.image(), further);
            }
        };
        let walked = if exactly {
            judge.crash_crash_named(&image, recovery, &next.blocks, &mut look)
        } else {
            judge.crash_crash_disks(&image, recovery, *seed, &mut look).map(drop)
        };
        walked.ok().and(found)
    }
}

/// Looks for the trace's crash disk in the trace's interval.
struct Search<'a> {
    trace: &'a Trace,
    hear: &'a dyn Fn(Step),
    past_end: Option<Divergence>,
    found: Option<Violation>,
    /// How many disks were checked; none before the trace's interval.
    looked: Option<u64>,
    by_search: bool,
}

impl Work for Search<'_> {
    /// The trace has every answer up to the finding: whoever asks for more is on another way.
    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        let asked = Some((point.options, point.kind, point.label.clone()));
        let index = self.trace.choices.len();
        self.past_end.get_or_insert(Divergence { index, recorded: None, asked, answered: None });
        0
    }

    fn chosen(&mut self, choice: &Choice) {
        let index = self.trace.choices.len();
        self.past_end.get_or_insert(Divergence::by_answer(index, None, choice.clone()));
    }

    fn about_to(&mut self, step: Step, _so_far: &SoFar<'_>) {
        (self.hear)(step);
    }

    fn crashes(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        stack: &Stack,
        ask: &Ask<'_>,
        so_far: &SoFar<'_>,
    ) -> Result<(), Failure> {
        let place = so_far.place;
        (self.hear)(Step::Between);
        if self.past_end.is_some() {
            return Err(Failure::Stop);
        }
        let Some(wanted) = self.trace.crash_disk.as_ref().filter(|_| place.interval == self.trace.interval)
        else {
            return Ok(pipeline.skip(stack.devices(), ask.when)?);
        };
        let judge = pipeline.judge();
        let mut seen = HashSet::new();
        let mut looked = 0;
        let asked = pipeline.asked(stack.devices(), ask, (place.interval, so_far.choices))?;
        self.by_search = format!("{:032x}", asked.log_hash()) != self.trace.log;
        let by_search = self.by_search;
        let mut visit = |candidate: &Candidate<'_>| {
            let Candidate { disk, epoch, args, key, .. } = candidate;
            let recorded = || Some(*epoch) == self.trace.epoch && *args == self.trace.args && wanted.is(disk);
            let wanted = self.found.is_none() && (self.by_search || recorded());
            if !wanted || !seen.insert(*key) {
                return;
            }
            looked += 1;
            let Search { trace, hear, by_search, .. } = *self;
            let way = Way { judge, checker: ask.checker, candidate, trace, hear, exactly: !by_search };
            self.found = way.look(disk.image(), &self.trace.recovery);
        };
        if by_search {
            asked.walk(visit)?;
        } else {
            asked.named(&wanted.blocks, &mut visit)?;
        }
        stood_still(stack.devices())?;
        self.looked = Some(looked);
        Err(Failure::Stop)
    }

    fn reached(&mut self, _arrival: Arrival, _signature: Option<&[u8]>, _more: bool) -> bool {
        self.past_end.is_none()
    }
}
