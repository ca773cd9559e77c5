//! The checks of a unit, where its worker is: every new crash disk of each request is recovered and checked, and so are those
//! that a crash during its recovery leaves.

use std::cell::RefCell;

use explode_ramdisk::{Image, Recording};

use super::book::Scouted;
use super::keys::Known;
use super::pen::Pen;
use super::step::{Stage, Step, StepName};
use super::unit_end::{Snapshot, UnitEnd};
use super::{Listener, Order, Outcome};
use crate::check::{Ask, Failure, Profile, Violation};
use crate::choose::Point;
use crate::crash::{CrashDisk, Kept};
use crate::pipeline::{Candidate, Judge, Judged, Judgement, Pipeline, key};
use crate::recover::Stack;
use crate::report::Count;
use crate::run::plan::Plan;
use crate::run::seen::Notes;
use crate::run::unit::{Early, ErrorFound, Place, Runner, SoFar, Way, Work};

/// Runs a unit, makes its checks, and adds up what they came to.
pub(super) struct Examiner<'a> {
    plan: &'a Plan,
    profile: Option<&'a Profile>,
    checks: &'a mut dyn Notes,
    order: &'a Order,
    listener: RefCell<&'a mut dyn Listener>,
    end: UnitEnd,
    /// Writes the book of a unit that is run ahead.
    pen: Option<Pen>,
}

/// What all checks of one crash have in common.
#[derive(Clone, Copy)]
struct Crash<'a> {
    judge: Judge<'a>,
    ask: &'a Ask<'a>,
    place: Place,
    operations: u64,
    candidate: &'a Candidate<'a>,
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
        Examiner { plan, profile, checks, order, listener, end, pen: None }
    }

    /// Runs the unit to its end.
    pub fn run(mut self, runner: &Runner<'_>) -> UnitEnd {
        self.run_unit(runner)
    }

    /// Runs the unit ahead of its turn: what it comes to then depends on what is known then, and is in the book.
    pub fn run_ahead(mut self, runner: &Runner<'_>) -> Scouted {
        self.pen = Some(Pen::default());
        let mut end = self.run_unit(runner);
        end.known = Known::default();
        Scouted { end, book: self.pen.unwrap_or_default().into_book() }
    }

    fn run_unit(&mut self, runner: &Runner<'_>) -> UnitEnd {
        let ended = runner.run(&self.order.unit(), self);
        match ended.early {
            None | Some(Early::Stopped) => {}
            Some(Early::Violated(violation, place)) => {
                let way = Way { choices: ended.choices.clone(), place, ..Way::default() };
                let (_, index) = self.violated(violation, None, || way);
                self.write(|pen| pen.violated(index));
            }
            Some(Early::Broken(why)) => self.ended_broken(why),
            Some(Early::Diverged(divergence)) => self.ended_broken(format!(
                "restoring a state took another path: {divergence}; the checked system is not deterministic"
            )),
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
            Some(format!("{}: \"{}\" ({})", profile.system, line.quote, line.source))
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
        let Crash { judge, candidate, .. } = crash;
        let below = self.plan.settings.crash_depth.saturating_sub(before.len() as u32);
        let deeper = below > 0;
        let recording = if deeper { Recording::On } else { Recording::Off };
        let (judged, died) = self.judge(crash, key_of_check, disk, image.clone(), recording, before);
        match judged.judgement {
            Judgement::Ok | Judgement::Repaired => {}
            Judgement::Broken(why) => {
                self.write(|pen| pen.check_broken(&why));
                self.end.add_broken(why);
                return true;
            }
            Judgement::Violated(violation) => {
                let (excluded, index) = self.violated(violation, died, || crash.way(disk, before));
                self.write(|pen| pen.violated(index));
                return excluded;
            }
        }
        let mut sound = true;
        if deeper && judged.recovery.is_empty() {
            self.write(Pen::at_rest);
        } else if deeper {
            self.write(|pen| pen.follow(below));
            before.push((disk.identity().to_string(), disk.kept()));
            let Candidate { epoch, args, rest, seed, .. } = candidate;
            let counts = judge.crash_crash_disks(&image, &judged.recovery, *seed, |disk| {
                let key = key(disk.identity(), *epoch, args, rest);
                self.write(|pen| pen.child(key));
                if !self.stopped() && self.checks.insert_crash_crash(key) {
                    self.end.known.crash_crash.0.push(key);
                    self.end.crash_crash_disks += 1;
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
        let crashes = before.len() as u32;
        let past = self.order.past.iter().find(|past| past.key == key && past.crashes == crashes);
        if let Some(past) = past {
            let (judgement, died) = match past.outcome.clone() {
                Outcome::Error(violation, step) => (Judgement::Violated(violation), Some(step)),
                Outcome::Broken(why) => (Judgement::Broken(why), None),
            };
            return (Judged { judgement, recovery: Vec::new() }, died);
        }
        let mut announce = |stage: Stage| {
            self.announce(Step::Disk { key, crashes, stage }, operations, || crash.way(disk, before));
        };
        let Candidate { epoch, args, .. } = candidate;
        let judged = judge.judge_announced(image, ask.checker, *epoch, args, recording, &mut announce);
        self.listener.borrow_mut().about_to(Step::Between, self.end.checked);
        (judged, None)
    }
}

impl Crash<'_> {
    /// What leads to a disk.
    fn way(&self, disk: &CrashDisk<'_>, before: &[Disk]) -> Way {
        let Crash { ask, place, candidate, .. } = self;
        let this = (disk.identity().to_string(), disk.kept());
        let mut disks = before.iter().cloned().chain([this]);
        Way {
            epoch: Some(candidate.epoch),
            args: candidate.args.to_vec(),
            disk: disks.next(),
            recovery: disks.collect(),
            choices: ask.chooser.made().to_vec(),
            place: *place,
            log_hash: candidate.log_hash,
        }
    }
}

impl Work for Examiner<'_> {
    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        if self.order.ask { self.listener.get_mut().fallback(point) } else { 0 }
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
        let SoFar { operations, place, .. } = *so_far;
        self.listener.get_mut().about_to(Step::Between, self.end.checked);
        let judge = pipeline.judge();
        let mut sound = true;
        self.write(Pen::request);
        let counts = pipeline.candidates(stack.devices(), ask, place.interval, |candidate| {
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
            self.end.checked += 1;
            let crash = Crash { judge, ask, place, operations, candidate };
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

    fn reached(&mut self, signature: u128, depth: u32, more: bool) -> bool {
        self.listener.get_mut().reached(signature, depth, more)
    }
}
