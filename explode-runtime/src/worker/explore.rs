//! The checks of a unit, in the worker. Recovers and checks every new crash disk of each request,
//! and every disk that a crash during its recovery leaves. Disks whose verdict is [known from
//! another disk](crate::judge::equivalence::unit) are skipped.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use explode_ramdisk::{Identity, Image, Recording};
use num_bigint::BigUint;
use tracing::{debug_span, field};

use super::listener::UnitListener;
use super::memo::{Memo, MemoEntry, MemoPut, MemoSource, Recalled, Shown};
use super::order::{DeathOutcome, FatalCheck, UnitOrder};
use super::unit_result::{Segment, UnitResult, UnitSnapshot};
use crate::base::{ExactCount, StepError, TallyGroup};
use crate::check::CrashRequest;
use crate::choose::{Answers, Choice, ChoicePoint};
use crate::crash::{CrashDisk, IntervalCounts};
use crate::dedup::{KeyHasherBuilder, nested_key};
use crate::explore::{ReachedState, Sketch, UnitDisks};
use crate::judge::equivalence::KnownVerdict;
use crate::judge::equivalence::unit::Equivalence;
use crate::judge::{
    CandidateDisk, Check, CheckEnding, CheckOutcome, Crash, CrashPipeline, DiskName, JudgeHooks,
    judge as judge_disk, key as key_of,
};
use crate::plan::Plan;
use crate::stack::Stack;
use crate::trace::{FoundError, Position, Witness};
use crate::unit::{System, UnitHooks, UnitProgress, UnitStop, WalkEnd, WalkHooks};
use crate::verdict::{
    Broken, BrokenKind, CheckError, DiskStage, Profile, StepName, Violation, WorkerStep,
};

/// Runs a unit, makes its checks, and collects their results.
pub(super) struct UnitExplorer<'a> {
    plan: &'a Plan,
    profile: Option<&'a Profile>,
    memo: &'a mut Memo,
    order: &'a UnitOrder,
    answers: Box<dyn Answers>,
    listener: &'a mut dyn UnitListener,
    skipping: Option<Equivalence>,
    result: UnitResult,
    /// The segment of the result that has not ended yet.
    segment: Segment,
    put: MemoPut,
    /// The states that the unit has met; empty unless a bound on states can end the unit.
    states: HashSet<u128, KeyHasherBuilder>,
    /// The number of checks of crash disks that were made.
    checked: u64,
}

/// A crash disk of a request, with the data of the unit that its checks need.
struct Checking<'e, 'a> {
    examiner: &'e mut UnitExplorer<'a>,
    has: WitnessContext<'e>,
    candidate: &'e CandidateDisk<'e>,
    /// The key of the checks that can stand for each other: equal epochs, arguments and check_keys.
    tree: u128,
    /// The verdict that a spot check must have; `None` if the check is not a spot check.
    spot_check: Option<KnownVerdict>,
    /// The checks that are being made: the outermost, then those of crashes during its recovery.
    open: Vec<Open>,
}

/// A check that is being made.
#[derive(Default)]
struct Open {
    entry: MemoEntry,
    /// True if the unit had to end before the check was complete.
    stopped: bool,
}

/// The place of a request for crash checks on the path of the unit.
#[derive(Clone, Copy)]
struct WitnessContext<'a> {
    choices: &'a [Choice],
    place: Position,
    operations: u64,
}

impl<'a> UnitExplorer<'a> {
    pub fn new(
        plan: &'a Plan,
        profile: Option<&'a Profile>,
        memo: &'a mut Memo,
        order: &'a UnitOrder,
        answers: Box<dyn Answers>,
        listener: &'a mut dyn UnitListener,
    ) -> UnitExplorer<'a> {
        UnitExplorer {
            plan,
            profile,
            memo,
            order,
            answers,
            listener,
            skipping: None,
            result: UnitResult::default(),
            segment: Segment::default(),
            put: MemoPut::default(),
            states: HashSet::default(),
            checked: 0,
        }
    }

    /// Runs the unit to its end.
    pub fn run(mut self, system: &dyn System) -> UnitResult {
        self.memo.begin(self.order.unit.disks, self.order.last_counts);
        let skipping = system.facts().why_every_check_is_made.is_none();
        self.skipping = skipping.then(|| Equivalence::new(self.plan.settings.seed));
        let ended = system.run(&self.order.unit, &mut self);
        match ended.early {
            None | Some(UnitStop::Stopped) => {}
            Some(UnitStop::Violated(violation, place)) => {
                let witness =
                    Witness { choices: ended.choices.clone(), place, ..Witness::default() };
                let shown = self.shown(violation, None);
                let index = self.error(&shown, || witness);
                self.segment.seen.push(index);
            }
            Some(UnitStop::Broken(why)) => self.segment.add_broken(why),
            Some(UnitStop::Diverged(divergence)) => {
                let text = "the checked system is not deterministic";
                let why = format!("restoring a state took another path: {divergence}; {text}");
                self.segment.add_broken(BrokenKind::NotReproduced.of(why));
            }
        }
        let ahead = ended.operations.saturating_sub(self.operations() + self.segment.operations);
        if ahead > 0 || self.segment != Segment::default() {
            self.end_segment(ended.choices.len(), ahead);
        }
        self.memo.end(std::mem::take(&mut self.put));
        UnitResult { choices: ended.choices, events: ended.events, ..self.result }
    }

    fn end_segment(&mut self, choices: usize, operations: u64) {
        let segment = std::mem::take(&mut self.segment);
        let operations = segment.operations + operations;
        self.result.segments.push(Segment { choices: choices as u64, operations, ..segment });
    }

    /// Returns the number of calls of mutate in the segments that have ended.
    fn operations(&self) -> u64 {
        self.result.segments.iter().map(|segment| segment.operations).sum()
    }

    fn shown(&self, violation: Violation, died: Option<StepName>) -> Rc<Shown> {
        let by_design = self.profile.and_then(|profile| {
            let line = profile.excludes(&violation.promise)?;
            Some(profile.cite(line))
        });
        Rc::new(Shown { violation, by_design, died })
    }

    /// Returns the index of this violation's error. Calls `witness` only if the violation is the
    /// first of its signature.
    fn error(&mut self, shown: &Shown, witness: impl FnOnce() -> Witness) -> u32 {
        let errors = &mut self.result.errors;
        let known = errors.iter().position(|error| error.is_like(&shown.violation));
        let index = known.unwrap_or(errors.len());
        if known.is_none() {
            let Shown { violation, by_design, died } = shown;
            let (violation, by_design) = (violation.clone(), by_design.clone());
            errors.push(FoundError { violation, by_design, died: *died, way: witness() });
        }
        index as u32
    }

    /// Puts a remembered check into the result.
    fn put(&mut self, key: u128) {
        self.memo.put_disk(key, &mut self.put, &self.result.errors, &mut self.segment);
    }

    fn stopped(&mut self) -> bool {
        self.result.stopped |= self.listener.stop();
        self.result.stopped
    }

    /// Announces the next step. Sends a snapshot of the unit first, if the order requests one.
    fn announce(&mut self, step: WorkerStep, operations: u64, witness: impl FnOnce() -> Witness) {
        if self.order.snapshot_before.contains(&step) {
            let witness = witness();
            let choices = witness.choices.len() as u64;
            let operations = operations - self.operations();
            let mut result = UnitResult { choices: witness.choices.clone(), ..self.result.clone() };
            result.segments.push(Segment { choices, operations, ..self.segment.clone() });
            self.listener.snapshot_before(step, UnitSnapshot { result, way: witness });
        }
        self.listener.next_step(step, self.checked);
    }
}

impl WitnessContext<'_> {
    /// Returns the witness of a disk: this check, then the disks of `path`.
    fn witness_over(
        &self,
        candidate: &CandidateDisk<'_>,
        check: &Check<'_>,
        path: &[DiskName],
    ) -> Witness {
        let WitnessContext { choices, place, .. } = *self;
        let mut disks = check.before.iter().cloned().chain(name(check)).chain(path.iter().cloned());
        Witness {
            epoch: Some(check.crash.epoch),
            args: check.crash.args.to_vec(),
            disk: disks.next(),
            recovery: disks.collect(),
            choices: choices.to_vec(),
            place,
            log_hash: candidate.log_hash,
        }
    }
}

impl Checking<'_, '_> {
    /// Returns the outcome of a check that killed earlier workers; `None` for other checks.
    fn past(&self, check: &Check<'_>) -> Option<CheckOutcome> {
        let is_it = |past: &&FatalCheck| past.key == check.key && past.crashes == check.crashes();
        let past = self.examiner.order.past.iter().find(is_it)?;
        let (judgement, died) = match past.outcome.clone() {
            DeathOutcome::Error(violation, step) => (CheckEnding::Violated(violation), Some(step)),
            DeathOutcome::Broken(why) => (CheckEnding::Broken(why), None),
        };
        Some(CheckOutcome { died, ..CheckOutcome::known(judgement, Arc::default()) })
    }

    /// Records a violation that was met at this check, or over the disks of `path` from there. It
    /// is an error of the result, and of all checks that led to it.
    fn met(&mut self, check: &Check<'_>, shown: &Rc<Shown>, path: &[DiskName]) {
        let witness = self.has.witness_over(self.candidate, check, path);
        self.examiner.error(shown, || witness);
        let path: Vec<DiskName> =
            check.before.iter().cloned().chain(name(check)).chain(path.iter().cloned()).collect();
        for (crashes, open) in self.open.iter_mut().enumerate() {
            open.entry.add_first(shown, &path[(crashes + 1).min(path.len())..]);
        }
    }

    /// Compares a spot check with the known verdict. Any other check is remembered, so that it can
    /// stand for later ones.
    fn compare(&mut self, check: &Check<'_>, image: &Image, judged: CheckOutcome) -> CheckOutcome {
        let deeper = check.crashes() < check.crash.depth;
        let disk = check.disk.map_or_else(|| image.identity(), CrashDisk::identity);
        let Some(known) = self.spot_check.take() else {
            if let Some(skipping) =
                self.examiner.skipping.as_mut().filter(|_| judged.reads.is_some())
            {
                let recording = if deeper { Recording::On } else { Recording::Off };
                skipping.note(self.tree, image, &judged, recording, disk);
            }
            return judged;
        };
        if judged.ending == CheckEnding::Stopped {
            // The spot check was stopped, so the known verdict counts.
            return CheckOutcome::known(known.ending(), known.recovery.unwrap_or_default());
        }
        if let Some(difference) = known.difference(&judged, deeper) {
            let (other, epoch) = (known.disk, check.crash.epoch);
            self.examiner.segment.add_broken(BrokenKind::Component.of(format!(
                "skipping checks is not sound here, use --no-skip: disk {disk} agrees with disk \
                 {other} on all that was read of \
                 it, epoch {epoch}: {difference}"
            )));
            self.examiner.skipping = None;
        }
        judged
    }
}

impl JudgeHooks for Checking<'_, '_> {
    fn known(&mut self, check: &Check<'_>) -> Option<bool> {
        let key = check.key;
        if !check.is_outermost() {
            if self.examiner.stopped() {
                return Some(true);
            }
            let further = check.crash.depth - check.crashes();
            let recalled = self.examiner.memo.nested(key, further);
            if let Some(open) = self.open.last_mut() {
                open.entry.nested.push(nested_key(key, further));
                open.entry.is_unsound |= recalled.as_ref().is_some_and(Recalled::is_unsound);
            }
            if let Some(recalled) = recalled {
                recalled.firsts().iter().for_each(|(shown, path)| self.met(check, shown, path));
                return Some(!recalled.is_unsound());
            }
        }
        self.open.push(Open { entry: MemoEntry { key, ..MemoEntry::default() }, stopped: false });
        None
    }

    fn outcome(&mut self, check: &Check<'_>, image: &Image) -> Option<CheckOutcome> {
        let deeper = check.crashes() < check.crash.depth;
        let skipping = self.examiner.skipping.as_mut();
        let known = skipping.and_then(|skipping| skipping.find(self.tree, image, deeper));
        let is_counted = self.examiner.order.unit.disks != UnitDisks::Nested;
        if is_counted && check.is_outermost() && known.is_none() {
            self.examiner.checked += 1;
        }
        if let Some(open) = self.open.last_mut().filter(|_| known.is_some()) {
            open.entry.how = MemoSource::Equivalent;
        }
        let skipping = self.examiner.skipping.as_ref();
        let is_spot_check = skipping.is_some_and(|skipping| skipping.is_spot_check(check.key));
        match known {
            Some(known) if !is_spot_check => {
                Some(CheckOutcome::known(known.ending(), known.recovery.unwrap_or_default()))
            }
            known => {
                self.spot_check = known;
                self.past(check)
            }
        }
    }

    fn wants_reads(&self) -> bool {
        self.examiner.skipping.is_some()
    }

    fn before(&mut self, check: &Check<'_>, stage: DiskStage) -> bool {
        let (has, candidate) = (self.has, self.candidate);
        let witness = || has.witness_over(candidate, check, &[]);
        self.examiner.announce(check.step(stage), has.operations, witness);
        !self.examiner.listener.stop()
    }

    fn after(&mut self, _check: &Check<'_>) {
        self.examiner.listener.next_step(WorkerStep::Between, self.examiner.checked);
    }

    fn judged(
        &mut self,
        check: &Check<'_>,
        image: &Image,
        outcome: CheckOutcome,
    ) -> (CheckOutcome, bool) {
        let outcome = self.compare(check, image, outcome);
        let sound = match &outcome.ending {
            CheckEnding::Ok | CheckEnding::Repaired => true,
            CheckEnding::Broken(why) => {
                self.examiner.segment.add_broken(why.clone());
                true
            }
            CheckEnding::Stopped => {
                self.examiner.result.stopped = true;
                self.open.iter_mut().next_back().into_iter().for_each(|open| open.stopped = true);
                true
            }
            CheckEnding::Violated(violation) => {
                let shown = self.examiner.shown(violation.clone(), outcome.died);
                self.met(check, &shown, &[]);
                let sound = shown.by_design.is_some();
                if let Some(open) = self.open.last_mut() {
                    open.entry.is_unsound = !sound;
                    open.entry.shows = Some(shown);
                }
                sound
            }
        };
        (outcome, sound)
    }

    fn descended(&mut self, _check: &Check<'_>, counts: Result<IntervalCounts, StepError>) {
        match (counts, self.open.last_mut()) {
            (Ok(counts), Some(open)) => open.entry.left_out = ExactCount(counts.left_out),
            (Err(fault), _) => self.examiner.segment.add_broken(Broken::from(fault)),
            (Ok(_), None) => {}
        }
    }

    fn left(&mut self, check: &Check<'_>) {
        let Some(Open { entry, stopped }) = self.open.pop() else { return };
        let key = entry.key;
        if let Some(above) = self.open.last_mut() {
            if stopped {
                above.entry.nested.pop();
            }
            above.entry.is_unsound |= entry.is_unsound;
        } else if stopped {
            self.examiner.segment.pending.0.push(key);
        }
        if !stopped {
            if check.is_outermost() {
                let number = self.examiner.memo.number(key);
                self.examiner.memo.remember(number, entry);
                self.examiner.put(key);
            } else {
                let further = check.crash.depth - check.crashes();
                self.examiner.memo.remember(nested_key(key, further), entry);
            }
        }
    }
}

fn name(check: &Check<'_>) -> Option<DiskName> {
    check.disk.map(|disk| (disk.identity().to_string(), disk.kept()))
}

impl WalkHooks for UnitExplorer<'_> {
    fn wants_choices(&self) -> bool {
        self.order.stream_choices
    }

    fn next_walk(&mut self) {
        if self.order.stream_choices {
            self.listener.next_walk();
        }
    }

    fn walked(&mut self, walk: WalkEnd) -> bool {
        let WalkEnd { signature, steps, choices, violation } = walk;
        self.segment.operations += u64::from(steps);
        self.segment.walked += choices;
        if let Some((violation, way)) = violation {
            let shown = self.shown(violation, None);
            let index = self.error(&shown, || way);
            self.segment.seen.push(index);
        }
        let state = ReachedState { signature, depth: steps, choices: 0, ..ReachedState::default() };
        self.segment.arrival = Some(state);
        let bound = self.plan.settings.states;
        if bound.is_some() {
            self.states.insert(signature);
        }
        self.end_segment(0, 0);
        let goes_on = bound.is_none_or(|bound| (self.states.len() as u64) < bound);
        self.result.is_cut = !goes_on;
        goes_on
    }

    fn broken(&mut self, why: Broken) {
        self.segment.add_broken(why);
    }
}

impl UnitHooks for UnitExplorer<'_> {
    fn walks(&mut self) -> Option<&mut dyn WalkHooks> {
        Some(self)
    }

    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let value = self.answers.answer(point);
        self.chosen(&Choice::of(point, value));
        value
    }

    fn chosen(&mut self, choice: &Choice) {
        if self.order.stream_choices {
            self.listener.chose(choice);
        }
    }

    fn crashed(&mut self, disks: &BigUint, left_out: &BigUint) {
        self.segment.crash_disks += disks.clone();
        self.segment.left_out += left_out.clone();
    }

    fn tally(&mut self, group: &str, name: &str, count: &ExactCount) {
        TallyGroup::add(&mut self.segment.tallies, group, name, count);
    }

    fn stop(&mut self) -> bool {
        self.stopped()
    }

    fn before(&mut self, step: WorkerStep, so_far: &UnitProgress<'_>) {
        let UnitProgress { choices, operations, place } = *so_far;
        let witness = || Witness { choices: choices.to_vec(), place, ..Witness::default() };
        self.announce(step, operations, witness);
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        request: &CrashRequest<'_>,
        so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        let UnitProgress { choices, operations, place } = *so_far;
        self.listener.next_step(WorkerStep::Between, self.checked);
        let judge = pipeline.judge();
        let (interval, when) = (place.interval, request.when);
        let span = debug_span!("crash_request", interval, ?when, crash_disks = field::Empty);
        let _entered = span.enter();
        if let Some(skipping) = &mut self.skipping {
            skipping.begin_request(request.checker.disk_check_key().is_some());
        }
        let mut sound = true;
        let counts =
            pipeline.candidates(stack.devices(), request, (place.interval, choices), |candidate| {
                let CandidateDisk { key, judged_as, args, rest, disk, .. } = *candidate;
                let crash = Crash::of(judge, request, candidate, self.memo.crash_depth());
                let tree = key_of(Identity::default(), judged_as, args, rest);
                let has = WitnessContext { choices, place, operations };
                let recalled = self.memo.disk(key);
                let stopped = recalled.is_none() && self.stopped();
                let mut checking = Checking {
                    examiner: &mut *self,
                    has,
                    candidate,
                    tree,
                    spot_check: None,
                    open: Vec::new(),
                };
                sound &= match recalled {
                    // A violation that was found from another state also ends this state (EX-47).
                    Some(recalled) => {
                        let check = Check { crash: &crash, key, disk: Some(disk), before: &[] };
                        recalled
                            .firsts()
                            .iter()
                            .for_each(|(shown, path)| checking.met(&check, shown, path));
                        if matches!(recalled, Recalled::Own(_)) {
                            self.put(key);
                        }
                        !recalled.is_unsound()
                    }
                    None if stopped => {
                        self.segment.pending.0.push(key);
                        true
                    }
                    None => judge_disk(&crash, key, disk, &mut checking),
                };
            });
        let counts = counts?;
        span.record("crash_disks", field::display(&counts.crash_disks));
        self.segment.crash_disks += counts.crash_disks;
        self.segment.left_out += counts.left_out;
        if sound && !self.result.stopped { Ok(()) } else { Err(CheckError::Stop) }
    }

    /// Records a reached state. Returns true if the unit continues. The run ends at a bound on
    /// states, so a unit that has met as many states by itself need not continue.
    fn reached(&mut self, arrival: ReachedState, signature: Option<&[u8]>, more: bool) -> bool {
        let bound = self.plan.settings.states.filter(|_| more || !self.states.is_empty());
        if bound.is_some() {
            self.states.insert(arrival.signature);
        }
        let sketch = signature.filter(|_| self.order.sketches).map(Sketch::of);
        let (choices, operations) = (arrival.choices as usize, u64::from(arrival.depth > 0));
        self.segment.arrival = Some(ReachedState { sketch, ..arrival });
        self.end_segment(choices, operations);
        let goes_on = bound.is_none_or(|bound| (self.states.len() as u64) < bound);
        self.result.is_cut = more && !goes_on;
        goes_on
    }
}
