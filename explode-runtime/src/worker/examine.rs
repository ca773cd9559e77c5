//! The checks of a unit, where its worker is: every new crash disk of each request is recovered and checked, and so are those
//! that a crash during its recovery leaves; but for disks whose verdict is [known from another](crate::judge::equivalence::unit).

use std::cell::RefCell;
use std::sync::Arc;

use explode_ramdisk::{Identity, Image, Recording};

use super::book::Book;
use super::listener::Listener;
use super::order::{Order, Outcome, Past};
use super::pen::Pen;
use super::unit_end::{Snapshot, UnitEnd};
use crate::base::{Count, Fault};
use crate::check::Ask;
use crate::choose::{Choice, Point};
use crate::crash::{Counts, CrashDisk};
use crate::dedup::Notes;
use crate::explore::{Arrival, Sketch};
use crate::judge::equivalence::Answer;
use crate::judge::equivalence::unit::Skipping;
use crate::judge::{
    Candidate, Check, Crash, Descend, JudgeHooks, Judged, Judgement, Pipeline, judge as judge_disk,
    key as key_of,
};
use crate::plan::Plan;
use crate::stack::Stack;
use crate::trace::{ErrorFound, Place, Way};
use crate::unit::{Early, Runner, SoFar, Work};
use crate::verdict::{Broken, BrokenKind, Failure, Profile, Stage, Step, StepName, Violation};

/// Runs a unit, makes its checks, and adds up what they came to.
pub(super) struct Examiner<'a> {
    plan: &'a Plan,
    profile: Option<&'a Profile>,
    checks: &'a mut dyn Notes,
    order: &'a Order,
    listener: RefCell<&'a mut dyn Listener>,
    skipping: Option<Skipping>,
    end: UnitEnd,
    /// Writes the book of a unit that is run ahead, if no check is skipped.
    pen: Option<Pen>,
}

/// One crash disk of a request, with what its checks need of the unit.
struct Checking<'e, 'a> {
    examiner: &'e mut Examiner<'a>,
    has: Here<'e>,
    candidate: &'e Candidate<'e>,
    /// Whose checks can stand for each other: equal epochs, arguments and check_keys.
    tree: u128,
    /// The verdict that a check made all the same must have.
    spot_check: Option<Answer>,
}

/// Where a request stands.
#[derive(Clone, Copy)]
struct Here<'a> {
    choices: &'a [Choice],
    place: Place,
    operations: u64,
}

impl<'a> Examiner<'a> {
    pub fn new(
        plan: &'a Plan,
        profile: Option<&'a Profile>,
        checks: &'a mut dyn Notes,
        order: &'a Order,
        listener: &'a mut dyn Listener,
    ) -> Examiner<'a> {
        let (listener, end) = (RefCell::new(listener), UnitEnd::default());
        Examiner { plan, profile, checks, order, listener, skipping: None, end, pen: None }
    }

    /// Runs the unit to its end.
    pub fn run(mut self, runner: &Runner<'_>) -> UnitEnd {
        self.run_unit(runner)
    }

    /// Runs the unit, which skips no checks, ahead of its turn: what it comes to then depends on what is known then, and is in the
    /// book.
    pub fn run_with_book(mut self, runner: &Runner<'_>) -> (UnitEnd, Book) {
        self.pen = Some(Pen::default());
        let end = self.run_unit(runner);
        (end, self.pen.unwrap_or_default().into_book())
    }

    fn run_unit(&mut self, runner: &Runner<'_>) -> UnitEnd {
        let skipping = runner.not_skipping().is_none();
        self.skipping = skipping.then(|| Skipping::new(self.plan.settings.seed));
        let ended = runner.run(&self.order.unit(), self);
        match ended.early {
            None | Some(Early::Stopped) => {}
            Some(Early::Violated(violation, place)) => {
                let way = Way { choices: ended.choices.clone(), place, ..Way::default() };
                let (_, index) = self.violated(violation, None, || way);
                self.write(|pen| pen.violated(index));
            }
            Some(Early::Broken(why)) => self.ended_broken(why),
            Some(Early::Diverged(divergence)) => {
                self.ended_broken(BrokenKind::NotReproduced.of(format!(
                    "restoring a state took another path: {divergence}; the checked system is not deterministic"
                )));
            }
        }
        let end = std::mem::take(&mut self.end);
        UnitEnd { choices: ended.choices, operations: ended.operations, events: ended.events, ..end }
    }

    fn ended_broken(&mut self, why: Broken) {
        self.write(|pen| pen.broken(&why));
        self.end.add_broken(why);
    }

    fn write(&mut self, write: impl FnOnce(&mut Pen)) {
        if let Some(pen) = &mut self.pen {
            write(pen);
        }
    }

    /// Counts a violation; the way to it is asked for only if it is the first of its kind. Returns whether it is by design, and
    /// which error it is.
    fn violated(
        &mut self,
        violation: Violation,
        died: Option<StepName>,
        way: impl FnOnce() -> Way,
    ) -> (bool, u32) {
        let by_design = self.profile.and_then(|profile| {
            let line = profile.excludes(&violation.promise)?;
            Some(profile.cite(line))
        });
        let excluded = by_design.is_some();
        self.end.by_design += u64::from(excluded);
        let errors = &mut self.end.errors;
        let known = errors.iter().position(|(error, _)| error.is_like(&violation));
        let index = known.unwrap_or(errors.len());
        match errors.get_mut(index) {
            Some((_, times)) => *times += 1,
            None => {
                errors.push((ErrorFound { violation, by_design, died, way: way() }, 1));
                self.write(Pen::first);
            }
        }
        (excluded, index as u32)
    }

    fn stopped(&mut self) -> bool {
        self.end.stopped |= self.listener.get_mut().stop();
        self.end.stopped
    }

    /// Says what comes next; if the worker is wary of it, with all that is known so far.
    fn announce(&self, step: Step, operations: u64, way: impl FnOnce() -> Way) {
        let mut listener = self.listener.borrow_mut();
        if self.order.wary.contains(&step) {
            let way = way();
            let end = UnitEnd { choices: way.choices.clone(), operations, ..self.end.clone() };
            listener.wary(step, Snapshot { end, way });
        }
        listener.about_to(step, self.end.checked);
    }
}

impl Checking<'_, '_> {
    /// What leads to a disk.
    fn way(&self, check: &Check<'_>) -> Way {
        let Here { choices, place, .. } = self.has;
        let this = check.disk.map(|disk| (disk.identity().to_string(), disk.kept()));
        let mut disks = check.before.iter().cloned().chain(this);
        Way {
            epoch: Some(check.crash.epoch),
            args: check.crash.args.to_vec(),
            disk: disks.next(),
            recovery: disks.collect(),
            choices: choices.to_vec(),
            place,
            log_hash: self.candidate.log_hash,
        }
    }

    /// What ended earlier workers is not checked again.
    fn past(&self, check: &Check<'_>) -> Option<Judged> {
        let is_it = |past: &&Past| past.key == check.key && past.crashes == check.crashes();
        let past = self.examiner.order.past.iter().find(is_it)?;
        let (judgement, died) = match past.outcome.clone() {
            Outcome::Error(violation, step) => (Judgement::Violated(violation), Some(step)),
            Outcome::Broken(why) => (Judgement::Broken(why), None),
        };
        Some(Judged { died, ..Judged::known(judgement, Arc::default()) })
    }

    /// Counts a check: those of crashes during recovery only if they are made.
    fn count(&mut self, check: &Check<'_>, is_known: bool) {
        let end = &mut self.examiner.end;
        match (is_known, check.is_outermost()) {
            (true, true) => end.equivalent += 1,
            (false, true) => end.checked += 1,
            (false, false) => end.crash_crash_disks += 1,
            (true, false) => {}
        }
    }

    /// A check that was stopped does not count.
    fn uncount(&mut self, check: &Check<'_>) {
        let end = &mut self.examiner.end;
        end.stopped = true;
        if check.is_outermost() {
            end.checked -= 1;
            end.pending += 1;
        } else {
            end.crash_crash_disks -= 1;
        }
    }

    /// Compares a check that was made with one that could have stood for it, or remembers it for others.
    fn compare(&mut self, check: &Check<'_>, image: &Image, judged: Judged) -> Judged {
        let deeper = check.crashes() < check.crash.depth;
        let disk = check.disk.map_or_else(|| image.identity(), CrashDisk::identity);
        let Some(known) = self.spot_check.take() else {
            if let Some(skipping) = self.examiner.skipping.as_mut().filter(|_| judged.reads.is_some()) {
                let recording = if deeper { Recording::On } else { Recording::Off };
                skipping.note(self.tree, image, &judged, recording, disk);
            }
            return judged;
        };
        if judged.judgement == Judgement::Stopped {
            // It was told to end, and the verdict is known.
            return Judged::known(known.judgement(), known.recovery.unwrap_or_default());
        }
        if let Some(difference) = known.difference(&judged, deeper) {
            let (other, epoch) = (known.disk, check.crash.epoch);
            self.examiner.end.add_broken(BrokenKind::Component.of(format!(
                "skipping checks is not sound here, use --no-skip: disk {disk} agrees with disk {other} on all that was read of \
                 it, epoch {epoch}: {difference}"
            )));
            self.examiner.skipping = None;
        }
        judged
    }
}

impl JudgeHooks for Checking<'_, '_> {
    fn known(&mut self, check: &Check<'_>) -> Option<bool> {
        if !check.is_outermost() {
            self.examiner.write(|pen| pen.child(check.key));
            if self.examiner.stopped() {
                return Some(true);
            }
            let below = check.crash.depth - check.crashes();
            let Some(noted) = self.examiner.checks.insert_crash_crash(check.key, below) else {
                return Some(true);
            };
            self.examiner.end.known.crash_crash.0.push(noted);
        }
        self.examiner.write(|pen| pen.begin(check.key));
        None
    }

    fn outcome(&mut self, check: &Check<'_>, image: &Image) -> Option<Judged> {
        let deeper = check.crashes() < check.crash.depth;
        let skipping = self.examiner.skipping.as_mut();
        let known = skipping.and_then(|skipping| skipping.find(self.tree, image, deeper));
        self.count(check, known.is_some());
        let skipping = self.examiner.skipping.as_ref();
        let is_spot_check = skipping.is_some_and(|skipping| skipping.is_spot_check(check.key));
        match known {
            Some(known) if !is_spot_check => {
                Some(Judged::known(known.judgement(), known.recovery.unwrap_or_default()))
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

    fn before(&mut self, check: &Check<'_>, stage: Stage) -> bool {
        self.examiner.announce(check.step(stage), self.has.operations, || self.way(check));
        !self.examiner.listener.borrow_mut().stop()
    }

    fn after(&mut self, _check: &Check<'_>) {
        self.examiner.listener.borrow_mut().about_to(Step::Between, self.examiner.end.checked);
    }

    fn judged(&mut self, check: &Check<'_>, image: &Image, outcome: Judged) -> (Judged, bool) {
        let outcome = self.compare(check, image, outcome);
        let sound = match &outcome.judgement {
            Judgement::Ok | Judgement::Repaired => true,
            Judgement::Broken(why) => {
                self.examiner.write(|pen| pen.check_broken(why));
                self.examiner.end.add_broken(why.clone());
                true
            }
            Judgement::Stopped => {
                self.uncount(check);
                true
            }
            Judgement::Violated(violation) => {
                let way = self.way(check);
                let (excluded, index) = self.examiner.violated(violation.clone(), outcome.died, || way);
                self.examiner.write(|pen| pen.violated(index));
                excluded
            }
        };
        (outcome, sound)
    }

    fn descend(&mut self, check: &Check<'_>, outcome: &Judged) -> Descend {
        if outcome.recovery.is_empty() {
            self.examiner.write(Pen::at_rest);
            return Descend::No;
        }
        self.examiner.write(|pen| pen.follow(check.crash.depth - check.crashes()));
        Descend::All
    }

    fn descended(&mut self, _check: &Check<'_>, counts: Result<Counts, Fault>) {
        let left_out = counts.map(|counts| Count(counts.left_out)).map_err(Broken::from);
        self.examiner.write(|pen| pen.followed(&left_out));
        match left_out {
            Ok(left_out) => self.examiner.end.crash_crash_left_out += left_out.0,
            Err(fault) => self.examiner.end.add_broken(fault),
        }
    }

    fn left(&mut self, _check: &Check<'_>) {
        self.examiner.write(Pen::end);
    }
}

impl Work for Examiner<'_> {
    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        if self.order.ask { self.listener.get_mut().fallback(point) } else { 0 }
    }

    fn chosen(&mut self, choice: &Choice) {
        if self.order.ask {
            self.listener.get_mut().fallback(&choice.point());
        }
    }

    fn stop(&mut self) -> bool {
        self.stopped()
    }

    fn about_to(&mut self, step: Step, so_far: &SoFar<'_>) {
        let SoFar { choices, operations, place } = *so_far;
        let way = || Way { choices: choices.to_vec(), place, ..Way::default() };
        self.announce(step, operations, way);
    }

    fn crashes(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        stack: &Stack,
        ask: &Ask<'_>,
        so_far: &SoFar<'_>,
    ) -> Result<(), Failure> {
        let SoFar { choices, operations, place } = *so_far;
        self.listener.get_mut().about_to(Step::Between, self.end.checked);
        let judge = pipeline.judge();
        if let Some(skipping) = &mut self.skipping {
            skipping.begin_request(ask.checker.disk_check_key().is_some());
        }
        let mut sound = true;
        self.write(Pen::request);
        let counts = pipeline.candidates(stack.devices(), ask, (place.interval, choices), |candidate| {
            let key = candidate.key;
            let new = self.checks.insert(key);
            let error = !new && self.checks.is_error(key);
            if new || error {
                self.write(|pen| pen.asks(key));
            }
            if !new {
                // Found from another state: this one is not explored further either (EX-47).
                sound &= !error;
                return;
            }
            self.end.known.seen.0.push(key);
            self.end.distinct += 1;
            if self.stopped() {
                self.end.pending += 1;
                return;
            }
            let Candidate { told, args, rest, disk, .. } = *candidate;
            let tree = key_of(Identity::default(), told, args, rest);
            let crash = Crash::of(judge, ask, candidate, judge.crash_depth());
            let has = Here { choices, place, operations };
            let mut checking = Checking { examiner: &mut *self, has, candidate, tree, spot_check: None };
            if !judge_disk(&crash, key, disk, &mut checking) {
                sound = false;
                self.checks.insert_error(key);
                self.end.known.errors.0.push(key);
            }
        });
        self.write(|pen| pen.request_ended(sound));
        let counts = counts?;
        self.end.crash_disks += counts.crash_disks;
        self.end.left_out += counts.left_out;
        if sound && !self.end.stopped { Ok(()) } else { Err(Failure::Stop) }
    }

    fn reached(&mut self, arrival: Arrival, signature: Option<&[u8]>, more: bool) -> bool {
        let sketch = signature.filter(|_| self.order.sketches).map(Sketch::of);
        self.listener.get_mut().reached(&Arrival { sketch, ..arrival }, more)
    }
}
