//! The checks of a unit, where its worker is: every new crash disk of each request is recovered and checked, and so are those
//! that a crash during its recovery leaves; but for disks whose verdict is [known from another](crate::judge::equivalence::unit).

use std::cell::RefCell;

use std::sync::Arc;

use explode_ramdisk::{Event, Identity, Image, Recording};

use super::book::Book;
use super::pen::Pen;
use super::unit_end::{Snapshot, UnitEnd};
use super::{Listener, Order, Outcome};
use crate::base::Count;
use crate::check::Ask;
use crate::choose::{Choice, Point};
use crate::crash::{CrashDisk, Kept};
use crate::dedup::Notes;
use crate::explore::{Arrival, Sketch};
use crate::judge::equivalence::Answer;
use crate::judge::equivalence::unit::Skipping;
use crate::judge::{Candidate, Judge, Judged, Judgement, Pipeline, key as key_of};
use crate::plan::Plan;
use crate::stack::Stack;
use crate::trace::{ErrorFound, Place, Way};
use crate::unit::{Early, Runner, SoFar, Work};
use crate::verdict::{Failure, Profile, Stage, Step, StepName, Violation};

/// How a message begins that says that the choices of a state did not lead to it again.
pub(crate) const OTHER_PATH: &str = "restoring a state took another path";

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

/// What all checks of one crash have in common.
#[derive(Clone, Copy)]
struct Crash<'a> {
    judge: Judge<'a>,
    ask: &'a Ask<'a>,
    choices: &'a [Choice],
    place: Place,
    operations: u64,
    candidate: &'a Candidate<'a>,
    /// Whose checks can stand for each other: equal epochs, arguments and check_keys.
    tree: u128,
}

/// What is said of a disk.
struct Verdict {
    judgement: Judgement,
    /// What its recovery wrote, as far as that is wanted.
    recovery: Arc<Vec<Event>>,
    /// The step that has ended workers.
    died: Option<StepName>,
}

/// A disk as a trace names it: its identity, and what it has kept.
type Disk = (String, Vec<Kept>);

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
            Some(Early::Diverged(divergence)) => self
                .ended_broken(format!("{OTHER_PATH}: {divergence}; the checked system is not deterministic")),
        }
        let end = std::mem::take(&mut self.end);
        UnitEnd { choices: ended.choices, operations: ended.operations, events: ended.events, ..end }
    }

    fn ended_broken(&mut self, why: String) {
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

    /// Checks a disk, then those that a crash during its recovery leaves, as deep as the user wants. `before` has the disks
    /// that led there, the outermost crash first. Returns whether all is well, or by design.
    fn check(
        &mut self,
        crash: &Crash<'_>,
        key_of_check: u128,
        disk: &CrashDisk<'_>,
        image: Image,
        before: &mut Vec<Disk>,
    ) -> bool {
        self.write(|pen| pen.begin(key_of_check));
        let sound = self.check_to_end(crash, key_of_check, disk, image, before);
        self.write(Pen::end);
        sound
    }

    fn check_to_end(
        &mut self,
        crash: &Crash<'_>,
        key_of_check: u128,
        disk: &CrashDisk<'_>,
        image: Image,
        before: &mut Vec<Disk>,
    ) -> bool {
        let Crash { judge, candidate, tree, .. } = crash;
        let below = self.plan.settings.crash_depth.saturating_sub(before.len() as u32);
        let deeper = below > 0;
        let known = self.skipping.as_mut().and_then(|skipping| skipping.find(*tree, &image, deeper));
        match (known.is_some(), before.is_empty()) {
            (true, true) => self.end.equivalent += 1,
            (false, true) => self.end.checked += 1,
            (false, false) => self.end.crash_crash_disks += 1,
            // Of those only the checked ones are counted.
            (true, false) => {}
        }
        let Verdict { judgement, recovery, died } =
            self.verdict(crash, key_of_check, disk, &image, known, deeper, before);
        match judgement {
            Judgement::Ok | Judgement::Repaired => {}
            Judgement::Broken(why) => {
                self.write(|pen| pen.check_broken(&why));
                self.end.add_broken(why);
                return true;
            }
            Judgement::Stopped => {
                self.end.stopped = true;
                if before.is_empty() {
                    self.end.checked -= 1;
                    self.end.pending += 1;
                } else {
                    self.end.crash_crash_disks -= 1;
                }
                return true;
            }
            Judgement::Violated(violation) => {
                let (excluded, index) = self.violated(violation, died, || crash.way(disk, before));
                self.write(|pen| pen.violated(index));
                return excluded;
            }
        }
        let mut sound = true;
        if deeper && recovery.is_empty() {
            self.write(Pen::at_rest);
        } else if deeper {
            self.write(|pen| pen.follow(below));
            before.push((disk.identity().to_string(), disk.kept()));
            let Candidate { epoch, args, rest, seed, .. } = candidate;
            let counts = judge.crash_crash_disks(&image, &recovery, *seed, |disk| {
                let key = key_of(disk.identity(), *epoch, args, rest);
                self.write(|pen| pen.child(key));
                if !self.stopped()
                    && let Some(noted) = self.checks.insert_crash_crash(key, below - 1)
                {
                    self.end.known.crash_crash.0.push(noted);
                    sound &= self.check(crash, key, disk, disk.image(), before);
                }
            });
            before.pop();
            let left_out = counts.map(|counts| Count(counts.left_out)).map_err(|fault| fault.to_string());
            self.write(|pen| pen.followed(&left_out));
            match left_out {
                Ok(left_out) => self.end.crash_crash_left_out += left_out.0,
                Err(fault) => self.end.add_broken(fault),
            }
        }
        sound
    }

    /// What is said of a disk: what is known of it, unless this is a spot check; else what its check says.
    #[expect(clippy::too_many_arguments, reason = "all that is known of one disk")]
    fn verdict(
        &mut self,
        crash: &Crash<'_>,
        key: u128,
        disk: &CrashDisk<'_>,
        image: &Image,
        known: Option<Answer>,
        deeper: bool,
        before: &[Disk],
    ) -> Verdict {
        let is_spot_check = self.skipping.as_ref().is_some_and(|skipping| skipping.is_spot_check(key));
        if let Some(known) = known.as_ref().filter(|_| !is_spot_check) {
            let recovery = known.recovery.clone().unwrap_or_default();
            return Verdict { judgement: known.judgement(), recovery, died: None };
        }
        let recording = if deeper { Recording::On } else { Recording::Off };
        let (judged, died) = self.judge(crash, key, disk, image.clone(), recording, before);
        match (&known, &mut self.skipping) {
            // A spot check that was told to end: the verdict is known.
            (Some(known), _) if judged.judgement == Judgement::Stopped => {
                let recovery = known.recovery.clone().unwrap_or_default();
                return Verdict { judgement: known.judgement(), recovery, died: None };
            }
            (Some(known), _) => {
                if let Some(difference) = known.difference(&judged, deeper) {
                    let (this, other, epoch) = (disk.identity(), known.disk, crash.candidate.epoch);
                    self.end.add_broken(format!(
                        "skipping checks is not sound here, use --no-skip: disk {this} agrees with disk {other} on all \
                         that was read of it, epoch {epoch}: {difference}"
                    ));
                    self.skipping = None;
                }
            }
            (None, Some(skipping)) => {
                skipping.note(crash.tree, image, &judged, recording, disk.identity());
            }
            (None, None) => {}
        }
        Verdict { judgement: judged.judgement, recovery: Arc::new(judged.recovery), died }
    }

    /// The check itself, unless it has ended earlier workers; then also the step in which it did.
    fn judge(
        &self,
        crash: &Crash<'_>,
        key: u128,
        disk: &CrashDisk<'_>,
        image: Image,
        recording: Recording,
        before: &[Disk],
    ) -> (Judged, Option<StepName>) {
        let Crash { judge, ask, operations, candidate, .. } = *crash;
        let judge = if self.skipping.is_some() { judge.noting_reads() } else { judge };
        let crashes = before.len() as u32;
        let past = self.order.past.iter().find(|past| past.key == key && past.crashes == crashes);
        if let Some(past) = past {
            let (judgement, died) = match past.outcome.clone() {
                Outcome::Error(violation, step) => (Judgement::Violated(violation), Some(step)),
                Outcome::Broken(why) => (Judgement::Broken(why), None),
            };
            return (Judged { judgement, recovery: Vec::new(), reads: None }, died);
        }
        let mut announce = |stage: Stage| {
            self.announce(Step::Disk { key, crashes, stage }, operations, || crash.way(disk, before));
            !self.listener.borrow_mut().stop()
        };
        let Candidate { told, args, .. } = candidate;
        let judged = judge.judge_announced(image, ask.checker, *told, args, recording, &mut announce);
        self.listener.borrow_mut().about_to(Step::Between, self.end.checked);
        (judged, None)
    }
}

impl Crash<'_> {
    /// What leads to a disk.
    fn way(&self, disk: &CrashDisk<'_>, before: &[Disk]) -> Way {
        let Crash { choices, place, candidate, .. } = self;
        let this = (disk.identity().to_string(), disk.kept());
        let mut disks = before.iter().cloned().chain([this]);
        Way {
            epoch: Some(candidate.epoch),
            args: candidate.args.to_vec(),
            disk: disks.next(),
            recovery: disks.collect(),
            choices: choices.to_vec(),
            place: *place,
            log_hash: candidate.log_hash,
        }
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
            let Candidate { told, args, rest, .. } = candidate;
            let tree = key_of(Identity::default(), *told, args, rest);
            let crash = Crash { judge, ask, choices, place, operations, candidate, tree };
            let disk = candidate.disk;
            if !self.check(&crash, key, disk, disk.image(), &mut Vec::new()) {
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
