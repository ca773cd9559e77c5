//! From events to verdicts: the picture of the README in code.
//!
//! ```text
//! events -> write set -> crash disks -> seen before? -> recover -> check(epoch) -> verdict
//!                                       equivalent? ---------------------------> verdict
//! ```
//!
//! A [`Pipeline`] belongs to one run of the system. It follows the system's log, and when a checker asks for crash checks it
//! takes every disk of the interval through the stages. It knows no strategy and no report.

mod asked;
pub mod equivalence;
mod recovery;
mod softly;

use crate::events;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use explode_ramdisk::{Event, Identity, Image, Read, ReadFault, Recording};
use xxhash_rust::xxh3::Xxh3;

use crate::base::{Blame, Fault, panic_words};
use crate::check::{Ask, DiskCheck};
use crate::choose::{Choice, choices_hash};
use crate::crash::{Counts, CrashDisk, Epoch, Limits, SampleSeed, When};
use crate::devices::{Backend, DiskSet, HostId, Side, SoftCrashLog};
use crate::events::hash_event;
use crate::plan::{Plan, Registry};
use crate::stack::{Recovery, Stack};
use crate::verdict::{Failure, Stage, Violation};
use crate::writeset::{EventError, WriteSet};

pub use asked::Asked;
pub use recovery::NeighboursOf;

/// The stages behind one running system.
#[derive(Clone)]
pub struct Pipeline<'a> {
    judge: Judge<'a>,
    /// What could be on disk after the events before `log`.
    write_set: WriteSet,
    /// The events since then: those of the interval, if one has begun.
    log: Vec<Event>,
    log_hash: Xxh3,
    in_interval: bool,
    /// The calls that soft crashes repeat, where the log has no contents.
    soft: Option<Box<dyn SoftCrashLog>>,
    /// The events between the last two requests, where the last one was about one instant.
    recent: Vec<Event>,
    /// All events from the beginning, if somebody wants them.
    kept: Option<Vec<Event>>,
}

/// One crash disk on its way to a check.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// The disk.
    pub disk: &'a CrashDisk<'a>,
    /// When a crash can leave it.
    pub epoch: Epoch,
    /// What `check` is told of that: a soft crash before the last operation of an interval is judged as any crash in between.
    pub told: Epoch,
    /// What the checker's caller wants `check` to know.
    pub args: &'a [String],
    /// The identity of the check: (image, epoch, arguments, check_key), fault-model.md section 6.
    pub key: u128,
    /// What the key says besides image, epoch and arguments.
    pub rest: &'a [u8],
    /// What a sample of it is drawn from.
    pub seed: SampleSeed,
    /// A hash of every event so far: a replay with an equal one has the same blocks at the same places.
    pub log_hash: u128,
}

/// Judges crash disks: the last two stages.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    backend: &'a dyn Backend,
    note_reads: bool,
}

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// What came of it.
    pub judgement: Judgement,
    /// What was written from the first recover to the last mount; empty unless it was asked for.
    pub recovery: Vec<Event>,
    /// What of the disk was read, from the first recover to the end of the check; none unless it was asked for, and can be said.
    pub reads: Option<Vec<Read>>,
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
    /// It was told to end before it was made.
    Stopped,
}

impl<'a> Pipeline<'a> {
    /// Follows a system that was started on `base`.
    pub fn new(
        registry: &'a Registry,
        plan: &'a Plan,
        backend: &'a dyn Backend,
        base: Image,
    ) -> Pipeline<'a> {
        // The events mean something only together with what they began on.
        let mut log_hash = Xxh3::new();
        log_hash.update(&base.identity().0.to_le_bytes());
        let write_set = WriteSet::new(base.clone(), plan.settings.rules);
        let judge = Judge { registry, plan, backend, note_reads: false };
        let soft = if plan.settings.soft { backend.soft_crashes(base) } else { None };
        Pipeline {
            judge,
            write_set,
            log: Vec::new(),
            log_hash,
            in_interval: false,
            soft,
            recent: Vec::new(),
            kept: None,
        }
    }

    /// What follows begins anew, on what was put to rest as `base`. The events from the beginning go on.
    pub(crate) fn chop(&mut self, base: Image) {
        let judge = self.judge;
        let Judge { registry, plan, backend, .. } = judge;
        *self = Pipeline { judge, kept: self.kept.take(), ..Pipeline::new(registry, plan, backend, base) };
    }

    /// From now on all events are kept, for [`Pipeline::into_events`].
    pub fn keep_events(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// The events that were kept.
    pub fn into_events(self) -> Vec<Event> {
        self.kept.unwrap_or_default()
    }

    /// An interval begins here.
    ///
    /// # Errors
    /// The log cannot be read, or an event contradicts it: the tool or a component is broken.
    pub fn begin(&mut self, devices: &dyn DiskSet) -> Result<(), Fault> {
        self.follow(devices)?;
        self.advance()?;
        self.in_interval = true;
        self.keep_mark(BEGIN_MARK);
        Ok(())
    }

    /// An interval ends here, and nobody wants it checked (a replay of checks already made).
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn skip(&mut self, devices: &dyn DiskSet, when: When) -> Result<(), Fault> {
        self.in_interval &= when != When::Between;
        self.follow(devices)?;
        self.keep_mark(request_mark(when));
        Ok(())
    }

    /// The interval that ends here, to go through its crash disks; [`skip`](Pipeline::skip) goes on from there. `interval` is its
    /// number in the run, `made` the choices that led here.
    ///
    /// # Errors
    /// The log cannot be read, or an event contradicts it.
    pub fn asked<'s>(
        &'s mut self,
        devices: &dyn DiskSet,
        ask: &Ask<'s>,
        (interval, made): (u64, &[Choice]),
    ) -> Result<Asked<'s>, Fault> {
        let before = self.log.len();
        self.follow(devices)?;
        self.keep_mark(request_mark(ask.when));
        devices.hold_still(true)?;
        self.recent.clear();
        if ask.when != When::Between && !self.in_interval {
            self.recent.extend_from_slice(&self.log[before..]);
            self.advance()?;
        }
        if devices.kernel().is_some_and(|kernel| kernel.notes_operations()) {
            self.repeat_calls(devices)?;
        }
        let settings = &self.judge.plan.settings;
        let seed = SampleSeed { seed: settings.seed, choices: choices_hash(made), interval };
        let limits = Limits { limit: settings.limit, samples: settings.samples, seed };
        // Without a word from the checker no two requests for crash checks are alike: it may remember each mutate and call.
        let place = || [&seed.choices.to_le_bytes()[..], &interval.to_le_bytes()].concat();
        let rest = ask.checker.disk_check_key().unwrap_or_else(place);
        let when = match ask.when {
            When::Now if settings.soft => When::Soft,
            When::Between if settings.soft => When::Prefixes,
            when => when,
        };
        let Ask { begin, args, .. } = *ask;
        let log_hash = self.log_hash.digest128();
        let Pipeline { write_set, log, recent, .. } = self;
        Ok(Asked { write_set, log, recent, when, limits, begin, args, rest, log_hash })
    }

    /// Takes every crash disk of the interval that ends here to `visit`, once per epoch in which it is possible. `at` is as in
    /// [`asked`](Pipeline::asked).
    ///
    /// # Errors
    /// The log cannot be read, or an event contradicts it; or the devices did not stay as they were while others were visited.
    pub fn candidates(
        &mut self,
        devices: &dyn DiskSet,
        ask: &Ask<'_>,
        at: (u64, &[Choice]),
        visit: impl FnMut(&Candidate<'_>),
    ) -> Result<Counts, Fault> {
        let walked = self.asked(devices, ask, at)?.walk(visit);
        stood_still(devices)?;
        let (counts, write_set) = walked?;
        if ask.when == When::Between {
            self.write_set = write_set;
            self.log.clear();
            self.in_interval = false;
        }
        Ok(counts)
    }

    /// The run's seed.
    pub(crate) fn seed(&self) -> u64 {
        self.judge.plan.settings.seed
    }

    /// Who judges the crash disks of this run.
    pub fn judge(&self) -> Judge<'a> {
        self.judge
    }

    /// A mutate begins: what was done before is applied, and no interval is open.
    ///
    /// # Errors
    /// As [`Pipeline::begin`].
    pub(crate) fn catch_up(&mut self, devices: &dyn DiskSet) -> Result<&WriteSet, Fault> {
        self.in_interval = false;
        self.follow(devices)?;
        self.advance()?;
        Ok(&self.write_set)
    }

    /// Sectors of a medium go bad, which has a name.
    pub(crate) fn spoil(&mut self, dev: u32, sectors: Range<u64>, fault: ReadFault, name: &str) {
        self.write_set.spoil(dev, sectors, fault);
        let mark = Event::Mark { name: format!("fault {name}") };
        hash_event(&mark, &mut self.log_hash);
        self.kept.iter_mut().for_each(|kept| kept.push(mark.clone()));
    }

    /// A place that only those hear of who keep the events.
    fn keep_mark(&mut self, name: &str) {
        self.kept.iter_mut().for_each(|kept| kept.push(Event::Mark { name: name.to_owned() }));
    }

    /// Takes the events that the devices have logged.
    #[doc(hidden)]
    pub fn follow(&mut self, devices: &dyn DiskSet) -> Result<(), Fault> {
        let events = devices.take_log()?;
        for event in &events {
            hash_event(event, &mut self.log_hash);
        }
        self.take_calls(devices);
        if let Some(kept) = &mut self.kept {
            kept.extend(events.iter().cloned());
        }
        self.log.extend(events);
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Fault> {
        for (index, event) in self.log.drain(..).enumerate() {
            self.write_set.apply(&event).map_err(|error| contradiction(EventError { index, error }))?;
        }
        Ok(())
    }
}

/// The mark where an interval begins whose disks are asked for, in the events that are kept.
pub const BEGIN_MARK: &str = "crash checks begin";
/// The mark where it ends.
pub const END_MARK: &str = "crash checks end";
/// The mark of an instant whose disks are asked for.
pub const NOW_MARK: &str = "crash checks now";

fn request_mark(when: When) -> &'static str {
    match when {
        When::Between | When::Prefixes => END_MARK,
        When::Now | When::Soft => NOW_MARK,
    }
}

/// Did the system stand still while its crash disks were checked? It goes on now.
///
/// # Errors
/// It did not, or the log cannot be read.
#[doc(hidden)]
pub fn stood_still(devices: &dyn DiskSet) -> Result<(), Fault> {
    let moved = devices.take_log()?;
    devices.hold_still(false)?;
    let Some(event) = moved.first() else { return Ok(()) };
    Err(tool(format!(
        "the system did not stand still while its crash disks were checked: events logged meanwhile: {}, the first one {}",
        moved.len(),
        events::in_short(event)
    )))
}

fn contradiction(error: EventError) -> Fault {
    if error.error.is_limit() {
        return tool(format!("too much is pending: {error}; use a larger --block, or --atom request"));
    }
    tool(format!("the event log contradicts itself: {error}"))
}

fn tool(message: String) -> Fault {
    Fault::new(message).blame(Blame::Tool)
}

impl Judgement {
    /// Is every promise kept?
    pub fn is_sound(&self) -> bool {
        matches!(self, Judgement::Ok | Judgement::Repaired)
    }
}

impl Judge<'_> {
    /// The same, who notes what is read.
    #[must_use = "this returns the judge that notes"]
    pub fn noting_reads(self) -> Self {
        Judge { note_reads: true, ..self }
    }

    /// Recovers a crash disk as a fresh stack, and lets the checker look. `recording` is for what the recovery writes.
    pub fn judge(
        self,
        image: Image,
        checker: &dyn DiskCheck,
        epoch: Epoch,
        args: &[String],
        recording: Recording,
    ) -> Judged {
        self.judge_announced(image, checker, epoch, args, recording, &mut |_| true)
    }

    /// The same; each stage is announced before it begins. The answer says whether it shall.
    pub fn judge_announced(
        self,
        image: Image,
        checker: &dyn DiskCheck,
        epoch: Epoch,
        args: &[String],
        recording: Recording,
        announce: &mut dyn FnMut(Stage) -> bool,
    ) -> Judged {
        self.judge_seen(image, checker, epoch, args, recording, announce, &mut |_, _| {})
    }

    /// As [`judge_announced`](Judge::judge_announced). `see` gets the stack that has recovered, with what its recovery wrote, before
    /// the checker looks.
    #[expect(clippy::too_many_arguments, reason = "all that a check needs, and who watches it")]
    pub fn judge_seen(
        self,
        image: Image,
        checker: &dyn DiskCheck,
        epoch: Epoch,
        args: &[String],
        recording: Recording,
        announce: &mut dyn FnMut(Stage) -> bool,
        see: &mut dyn FnMut(&Stack, &[Event]),
    ) -> Judged {
        let mut recovered = Vec::new();
        let mut stopped = false;
        let mut announce = |stage| {
            stopped = !announce(stage);
            if stopped { Err(Failure::Stop) } else { Ok(()) }
        };
        let mut reads = None;
        let damaged = image.has_unreadable();
        let judged = catch_unwind(AssertUnwindSafe(|| {
            let Plan { stack, settings, .. } = self.plan;
            let devices = self.backend.disks(HostId::default(), Side::Crash, image, recording, settings.seed);
            if self.note_reads {
                devices.note_reads();
            }
            let mut stack =
                Stack::build(stack, &self.registry.components, devices, settings.rules, settings.seed)
                    .map_err(|error| Failure::Broken(error.to_string()))?;
            let mut look = || {
                let recovery = stack.recover(&mut announce)?;
                recovered = stack.devices().take_log()?;
                see(&stack, &recovered);
                announce(Stage::Check)?;
                checker.check_disk(&stack, epoch, args)?;
                Ok(recovery)
            };
            let found = look();
            reads = stack.devices().take_reads()?;
            found
        }));
        let judgement = match judged {
            Ok(Ok(Recovery::Clean)) => Judgement::Ok,
            Ok(Ok(Recovery::Repaired)) => Judgement::Repaired,
            Ok(Err(Failure::Violation(violation))) => Judgement::Violated(violation),
            // Whoever says that it cannot go on, where a block cannot be read, has said so: that is all there is to promise.
            Ok(Err(Failure::Broken(_))) if damaged => Judgement::Ok,
            Ok(Err(Failure::Broken(why))) => Judgement::Broken(why),
            Ok(Err(Failure::Stop)) if stopped => Judgement::Stopped,
            Ok(Err(Failure::Stop)) => Judgement::Broken("the check stopped without a word".to_owned()),
            Err(panic) => Judgement::Broken(format!("panicked: {}", panic_words(panic.as_ref()))),
        };
        Judged { judgement, recovery: recovered, reads }
    }
}

/// The key of a check (fault-model.md, section 6).
#[doc(hidden)]
pub fn key(image: Identity, epoch: Epoch, args: &[String], rest: &[u8]) -> u128 {
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

/// The same, where the check is told of another epoch.
fn key_of_told(image: Identity, epoch: Epoch, told: Epoch, args: &[String], rest: &[u8]) -> u128 {
    match (epoch, told) {
        (Epoch::Soft, Epoch::InBetween) => key(image, epoch, args, &[rest, b"told in-between"].concat()),
        _ => key(image, epoch, args, rest),
    }
}
