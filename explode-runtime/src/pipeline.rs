//! From events to verdicts: the picture of the README in code.
//!
//! ```text
//! events -> write set -> crash disks -> seen before? -> recover -> check(epoch) -> verdict
//! ```
//!
//! A [`Pipeline`] belongs to one run of the system. It follows the system's log, and when a checker asks for crash checks it
//! takes every disk of the interval through the stages. It knows no strategy and no report.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use explode_ramdisk::{Event, Identity, Image, Recording, Storage};
use xxhash_rust::xxh3::Xxh3;

use crate::check::{Ask, Checker, Failure, Violation};
use crate::crash::{Counts, CrashDisk, Epoch, Limits, SampleSeed, When, walk};
use crate::events::{EventError, hash_event};
use crate::recover::{Recovery, Stack};
use crate::run::{Plan, Registry};
use crate::writeset::WriteSet;

/// The stages behind one running system.
pub struct Pipeline<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    /// What could be on disk after the events before `log`.
    write_set: WriteSet,
    /// The events since then: those of the interval, if one has begun.
    log: Vec<Event>,
    log_hash: Xxh3,
    in_interval: bool,
}

/// One crash disk on its way to a check.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// The disk.
    pub disk: &'a CrashDisk<'a>,
    /// When a crash can leave it.
    pub epoch: Epoch,
    /// What the checker's caller wants `check` to know.
    pub args: &'a [String],
    /// The identity of the check: (image, epoch, arguments, check_key), fault-model.md section 6.
    pub key: u128,
    /// A hash of every event so far: a replay with an equal one has the same blocks at the same places.
    pub log_hash: u128,
}

/// Judges crash disks: the last two stages.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// All promises kept.
    Ok,
    /// All kept, after a repair.
    Repaired,
    /// A promise is broken.
    Violated(Violation),
    /// The check could not be made.
    Broken(String),
}

impl<'a> Pipeline<'a> {
    /// Follows a system that was started on `base`.
    pub fn new(registry: &'a Registry, plan: &'a Plan, base: Image) -> Pipeline<'a> {
        // The events mean something only together with what they began on.
        let mut log_hash = Xxh3::new();
        log_hash.update(&base.identity().0.to_le_bytes());
        let write_set = WriteSet::new(base, plan.settings.rules);
        Pipeline { registry, plan, write_set, log: Vec::new(), log_hash, in_interval: false }
    }

    /// An interval begins here.
    ///
    /// # Errors
    /// An event that contradicts the log: the tool or a component is broken.
    pub fn begin(&mut self, storage: &Storage) -> Result<(), EventError> {
        self.follow(storage);
        self.advance()?;
        self.in_interval = true;
        Ok(())
    }

    /// An interval ends here, and nobody wants it checked (a replay of checks already made).
    pub fn skip(&mut self, storage: &Storage, when: When) {
        self.follow(storage);
        self.in_interval &= when == When::Now;
    }

    /// Takes every crash disk of the interval that ends here to `visit`, once per epoch in which it is possible.
    ///
    /// # Errors
    /// An event that contradicts the log.
    pub fn candidates(
        &mut self,
        storage: &Storage,
        ask: &Ask<'_>,
        interval: u64,
        mut visit: impl FnMut(&Candidate<'_>),
    ) -> Result<Counts, EventError> {
        self.follow(storage);
        if ask.when == When::Now && !self.in_interval {
            self.advance()?;
        }
        let settings = &self.plan.settings;
        let seed = SampleSeed { seed: settings.seed, choices: ask.chooser.hash(), interval };
        let limits = Limits { limit: settings.limit, samples: settings.samples, seed };
        // Without a word from the checker no two requests for crash checks are alike: it may remember each mutate and call.
        let place = || [&seed.choices.to_le_bytes()[..], &interval.to_le_bytes()].concat();
        let rest = ask.checker.check_key().unwrap_or_else(place);
        let log_hash = self.log_hash.digest128();
        let mut write_set = self.write_set.clone();
        let counts = walk(&mut write_set, &self.log, ask.when, &limits, |disk| {
            for epoch in disk.epochs().iter() {
                let args = if epoch == Epoch::Begin { ask.begin } else { ask.args };
                let key = key(disk.identity(), epoch, args, &rest);
                visit(&Candidate { disk, epoch, args, key, log_hash });
            }
        })?;
        if ask.when == When::Between {
            self.write_set = write_set;
            self.log.clear();
            self.in_interval = false;
        }
        Ok(counts)
    }

    /// Who judges the crash disks of this run.
    pub fn judge(&self) -> Judge<'a> {
        Judge { registry: self.registry, plan: self.plan }
    }

    fn follow(&mut self, storage: &Storage) {
        let events = storage.take_log();
        for event in &events {
            hash_event(event, &mut self.log_hash);
        }
        self.log.extend(events);
    }

    fn advance(&mut self) -> Result<(), EventError> {
        for (index, event) in self.log.drain(..).enumerate() {
            self.write_set.apply(&event).map_err(|error| EventError { index, error })?;
        }
        Ok(())
    }
}

impl Judge<'_> {
    /// Recovers a crash disk as a fresh stack, and lets the checker look.
    pub fn judge(self, image: Image, checker: &dyn Checker, epoch: Epoch, args: &[String]) -> Judgement {
        let storage = Storage::new(image, Recording::Off);
        let judged = catch_unwind(AssertUnwindSafe(|| {
            let Plan { stack, settings, .. } = self.plan;
            let mut stack = Stack::build(stack, self.registry, storage, settings.rules, settings.seed)
                .map_err(|error| Failure::Broken(error.to_string()))?;
            let recovery = stack.recover()?;
            checker.check(&stack, epoch, args)?;
            Ok(recovery)
        }));
        match judged {
            Ok(Ok(Recovery::Clean)) => Judgement::Ok,
            Ok(Ok(Recovery::Repaired)) => Judgement::Repaired,
            Ok(Err(Failure::Violation(violation))) => Judgement::Violated(violation),
            Ok(Err(Failure::Broken(why))) => Judgement::Broken(why),
            Ok(Err(Failure::Stop)) => Judgement::Broken("the check stopped without a word".to_owned()),
            Err(panic) => Judgement::Broken(format!("panicked: {}", panic_message(panic.as_ref()))),
        }
    }
}

/// The key of a check (fault-model.md, section 6).
fn key(image: Identity, epoch: Epoch, args: &[String], rest: &[u8]) -> u128 {
    let mut hasher = Xxh3::new();
    hasher.update(&image.0.to_le_bytes());
    hasher.update(epoch.as_str().as_bytes());
    for arg in args {
        hasher.update(&(arg.len() as u64).to_le_bytes());
        hasher.update(arg.as_bytes());
    }
    hasher.update(&u64::MAX.to_le_bytes());
    hasher.update(rest);
    hasher.digest128()
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
