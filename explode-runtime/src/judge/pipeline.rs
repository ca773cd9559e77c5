//! Follows the log of a running system and derives the crash disks that its checker requests.
//!
//! A [`CrashPipeline`] belongs to one run of the system. When the checker requests crash checks,
//! the pipeline returns an [`OpenRequest`] with every crash disk of the interval. It does not
//! depend on strategies or reports.

use std::collections::VecDeque;

use explode_ramdisk::{Damage, Event, Image};
use xxhash_rust::xxh3::Xxh3;

use super::contradiction::{contradiction, tool};
use super::reader::{AtMark, LogReader, mark};
use super::recorded::RecordedLog;
use super::request::{CandidateDisk, OpenRequest};
use super::stacks::CrashStacks;
use crate::base::StepError;
use crate::check::{CrashRequest, LogPlace};
use crate::choose::{Choice, choices_hash};
use crate::crash::{Instants, IntervalCounts, SampleLimits, SampleSeed};
use crate::devices::{Backend, DiskSet, HostId, SoftCrashLog};
use crate::events::{self, hash_event, requested_name};
use crate::plan::{Plan, RunSettings};
use crate::stack::Blueprint;
use crate::writeset::{LogContradiction, WriteSet};

/// The path from the log of one running system to its crash disks.
#[derive(Clone)]
pub struct CrashPipeline<'a> {
    pub(super) judge: CrashStacks<'a>,
    /// The sizes of samples. Each request has its own seed.
    limits: SampleLimits,
    /// The possible contents of the disks after the events before `log`.
    pub(super) write_set: WriteSet,
    /// The events after those in the write set: those of the interval, if one has begun.
    pub(super) log: Vec<Event>,
    pub(super) log_hash: Xxh3,
    in_interval: bool,
    /// The calls that soft crashes repeat. `None` if the log has all contents.
    pub(super) soft: Option<Box<dyn SoftCrashLog>>,
    /// The events between the last two requests. Empty if the last one was about an interval.
    recent: Vec<Event>,
    /// The log for the checker. `None` if the checker does not read it.
    reader: Option<LogReader>,
    /// The number of events of `log` before the last request.
    before: usize,
    /// The waiting requests: those for crash checks that the checker did not make itself, oldest
    /// first (EX-66).
    requests: VecDeque<(String, AtMark)>,
    /// The waiting request that is being handled.
    turn: Option<AtMark>,
    /// The write set at the last mark whose crash disks were requested, and the number of events
    /// before the mark.
    at_mark: Option<(WriteSet, usize)>,
    /// All events from the beginning. `None` if they are not wanted.
    kept: Option<Vec<Event>>,
    /// The number of events since the beginning or the last chop.
    taken: usize,
    /// The log since then. `None` if it is not wanted, or if no events can show what has happened.
    pub(super) recorded: Option<RecordedLog>,
}

impl<'a> CrashPipeline<'a> {
    /// Follows a system that was started on `base`.
    pub fn new(
        blueprint: &'a Blueprint,
        plan: &'a Plan,
        backend: &'a dyn Backend,
        base: Image,
    ) -> CrashPipeline<'a> {
        // Events have a meaning only together with the image on which they begin.
        let mut log_hash = Xxh3::new();
        log_hash.update(&base.identity().0.to_le_bytes());
        let write_set = WriteSet::new(base.clone(), plan.settings.rules);
        let judge = CrashStacks::new(blueprint, plan, backend);
        let soft = if plan.settings.soft { backend.soft_crashes(base) } else { None };
        let RunSettings { limit, samples, .. } = plan.settings;
        CrashPipeline {
            judge,
            limits: SampleLimits { limit, samples, seed: SampleSeed::default() },
            write_set,
            log: Vec::new(),
            log_hash,
            in_interval: false,
            soft,
            recent: Vec::new(),
            reader: None,
            before: 0,
            requests: VecDeque::new(),
            turn: None,
            at_mark: None,
            kept: None,
            taken: 0,
            recorded: None,
        }
    }

    /// Returns the pipeline for a system on another host, with its own log and crash disks.
    #[must_use = "this returns the pipeline of the host"]
    pub fn of_host(self, host: HostId) -> CrashPipeline<'a> {
        CrashPipeline { judge: self.judge.of_host(host), ..self }
    }

    /// Returns a pipeline that visits all disks of an instant if they are at most `disks`, and a
    /// sample of that size otherwise.
    #[must_use = "this returns the pipeline with larger samples"]
    pub fn sampling(self, disks: u64) -> CrashPipeline<'a> {
        CrashPipeline {
            limits: SampleLimits { limit: disks, samples: disks, ..self.limits },
            ..self
        }
    }

    /// Begins anew on `base`, the image of the unmounted system. The events from the beginning are
    /// kept.
    pub(crate) fn chop(&mut self, base: Image) {
        let (judge, limits) = (self.judge, self.limits);
        let CrashStacks { blueprint, plan, backend, .. } = judge;
        let is_read = self.reader.is_some();
        let recorded = self.recorded.take().map(|_| RecordedLog::new(base.clone()));
        *self = CrashPipeline {
            judge,
            limits,
            kept: self.kept.take(),
            recorded,
            ..CrashPipeline::new(blueprint, plan, backend, base)
        };
        if is_read {
            self.keep_for_checker();
        }
    }

    /// Returns an image of the devices with the faults of whole disks on this path.
    pub(crate) fn in_condition(&self, image: Image) -> Image {
        image.in_condition_of(self.write_set.durable())
    }

    /// Keeps the log for the checker from now on. Called before the first event.
    pub(crate) fn keep_for_checker(&mut self) {
        self.reader = Some(LogReader::new(self.write_set.clone()));
    }

    /// Returns the events since the checker's last call of this method or since the start. The
    /// pipeline keeps its own copy.
    ///
    /// # Errors
    /// The log cannot be read, or the checker does not declare that it reads the log.
    pub(crate) fn read_log(&mut self, devices: &dyn DiskSet) -> Result<Vec<Event>, StepError> {
        self.follow(devices)?;
        Ok(self.reader.as_mut().ok_or_else(not_read)?.unread())
    }

    /// Adds a mark of the checker to the log.
    ///
    /// # Errors
    /// Those of [`read_log`](CrashPipeline::read_log).
    pub(crate) fn mark(&mut self, devices: &dyn DiskSet, name: &str) -> Result<(), StepError> {
        self.follow(devices)?;
        if self.reader.is_none() {
            return Err(not_read());
        }
        self.take(vec![mark(name)])
    }

    /// Takes the oldest waiting request and returns its name. From now on [`LogPlace::Request`] is
    /// its place. `None` if no request waits.
    ///
    /// # Errors
    /// Those of [`CrashPipeline::begin`].
    pub(crate) fn next_request(
        &mut self,
        devices: &dyn DiskSet,
    ) -> Result<Option<String>, StepError> {
        self.follow(devices)?;
        let Some((name, at)) = self.requests.pop_front() else { return Ok(None) };
        self.turn = Some(at);
        Ok(Some(name))
    }

    /// Keeps all events from now on, for [`CrashPipeline::into_events`].
    pub fn keep_events(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// Returns the events that were kept.
    pub fn into_events(self) -> Vec<Event> {
        self.kept.unwrap_or_default()
    }

    /// Records the log from now on, for [`CrashPipeline::recorded`]. Called before the first event.
    pub(crate) fn record(&mut self) {
        self.recorded = Some(RecordedLog::new(self.write_set.durable().clone()));
    }

    /// Returns the log up to the last request that was opened. `None` if it was not recorded, or if
    /// a device was damaged.
    pub(crate) fn recorded(&self) -> Option<&RecordedLog> {
        self.recorded.as_ref()
    }

    /// Begins an interval.
    ///
    /// # Errors
    /// The log cannot be read, or an event contradicts it: the tool or a component is broken.
    pub fn begin(&mut self, devices: &dyn DiskSet) -> Result<(), StepError> {
        self.follow(devices)?;
        self.advance()?;
        self.in_interval = true;
        self.keep_mark(BEGIN_MARK);
        Ok(())
    }

    /// Ends an interval or passes a moment without checks, in a replay of checks already made.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn skip(&mut self, devices: &dyn DiskSet, when: Instants) -> Result<(), StepError> {
        self.in_interval &= when != Instants::Interval;
        self.follow(devices)?;
        self.before = self.log.len();
        self.keep_mark(request_mark(when));
        Ok(())
    }

    /// Opens a request for the crash disks of the interval that ends here.
    /// [`skip`](CrashPipeline::skip) continues after it. `interval` is its number in the run,
    /// `made` the choices so far.
    ///
    /// # Errors
    /// The log cannot be read, or an event contradicts it.
    pub fn open_request<'s>(
        &'s mut self,
        devices: &dyn DiskSet,
        request: &CrashRequest<'s>,
        (interval, made): (u64, &[Choice]),
    ) -> Result<OpenRequest<'s>, StepError> {
        self.follow(devices)?;
        self.keep_mark(request_mark(request.when));
        devices.hold_still(true)?;
        self.recent.clear();
        let in_interval = self.in_interval;
        if let Some(at) = request.at {
            if devices.kernel().is_some_and(|kernel| kernel.notes_operations()) {
                return Err(tool(
                    "crash checks at a mark do not work together with soft crashes on a kernel"
                        .to_owned(),
                ));
            }
            let AtMark { write_set, recent, settled } = match at {
                LogPlace::Mark(name) => self.reader.as_ref().ok_or_else(not_read)?.at(name)?,
                LogPlace::Request => self
                    .turn
                    .clone()
                    .ok_or_else(|| tool("there is no open request for crash checks".to_owned()))?,
            };
            (self.at_mark, self.recent) = (Some((write_set, settled)), recent);
        } else if request.when != Instants::Interval && !in_interval {
            let before = self.before;
            let mut settled = self.settle()?;
            self.recent = settled.split_off(before);
        }
        self.before = self.log.len();
        if devices.kernel().is_some_and(|kernel| kernel.notes_operations()) {
            self.repeat_calls(devices)?;
        }
        let seed = self.judge.plan.settings.seed;
        Ok(self.opened(request, SampleSeed { seed, choices: choices_hash(made), interval }))
    }

    /// Opens the request that ends a recorded log, in place of one to running devices.
    ///
    /// # Errors
    /// An event contradicts the log.
    pub(crate) fn open_recorded<'s>(
        &'s mut self,
        recorded: RecordedLog,
        request: &CrashRequest<'s>,
    ) -> Result<OpenRequest<'s>, StepError> {
        let RecordedLog { events, settled, interval, .. } = recorded;
        events.iter().for_each(|event| hash_event(event, &mut self.log_hash));
        self.taken = settled + interval;
        let mut events = events.into_iter();
        self.log.extend(events.by_ref().take(settled));
        self.advance()?;
        self.log.extend(events.take(interval));
        let seed = self.judge.plan.settings.seed;
        Ok(self.opened(request, SampleSeed { seed, choices: 0, interval: 0 }))
    }

    fn opened<'s>(&'s mut self, request: &CrashRequest<'s>, seed: SampleSeed) -> OpenRequest<'s> {
        let settings = &self.judge.plan.settings;
        let limits = SampleLimits { seed, ..self.limits };
        // Without a check_key no two requests for crash checks are alike, because the checker may
        // remember each mutate and call.
        let place = || [&seed.choices.to_le_bytes()[..], &seed.interval.to_le_bytes()].concat();
        let rest = request.checker.disk_check_key().unwrap_or_else(place);
        let when = match request.when {
            Instants::Now if settings.soft => Instants::Soft,
            Instants::Interval if settings.soft => Instants::Prefixes,
            when => when,
        };
        let CrashRequest { begin, args, .. } = *request;
        let log_hash = self.log_hash.digest128();
        let CrashPipeline { write_set, log, recent, at_mark, recorded, taken, .. } = self;
        let (write_set, log, before_mark) = match (request.at, at_mark) {
            (Some(_), Some((write_set, before))) => (&*write_set, &[][..], Some(*before)),
            _ => (&*write_set, &log[..], None),
        };
        if let Some(recorded) = recorded {
            recorded.settled = before_mark.unwrap_or_else(|| *taken - log.len());
            (recorded.interval, recorded.when) = (log.len(), when);
        }
        OpenRequest { write_set, log, recent, when, limits, begin, args, rest, log_hash }
    }

    /// Passes every crash disk of the interval that ends here to `visit`, once per epoch in which
    /// it is possible. `at` is the last argument of [`open_request`](CrashPipeline::open_request).
    ///
    /// # Errors
    /// The log cannot be read, an event contradicts it, or the devices changed during the visits.
    pub fn candidates(
        &mut self,
        devices: &dyn DiskSet,
        request: &CrashRequest<'_>,
        at: (u64, &[Choice]),
        visit: impl FnMut(&CandidateDisk<'_>),
    ) -> Result<IntervalCounts, StepError> {
        let walked = self.open_request(devices, request, at)?.walk(visit);
        check_still(devices)?;
        let (counts, write_set) = walked?;
        if request.when == Instants::Interval {
            self.write_set = write_set;
            self.log.clear();
            self.before = 0;
            self.in_interval = false;
        }
        Ok(counts)
    }

    /// Returns the run's seed.
    pub(crate) fn seed(&self) -> u64 {
        self.judge.plan.settings.seed
    }

    /// Returns the contents of the devices after a crash that loses everything that was not
    /// flushed.
    ///
    /// # Errors
    /// Those of [`CrashPipeline::begin`].
    pub fn durable(&mut self, devices: &dyn DiskSet) -> Result<Image, StepError> {
        Ok(self.catch_up(devices)?.durable().clone())
    }

    /// Returns the judge of this run's crash disks.
    pub fn judge(&self) -> CrashStacks<'a> {
        self.judge
    }

    /// Applies all events so far and closes an open interval. Called before a mutate.
    ///
    /// # Errors
    /// Those of [`CrashPipeline::begin`].
    pub(crate) fn catch_up(&mut self, devices: &dyn DiskSet) -> Result<&WriteSet, StepError> {
        self.in_interval = false;
        self.follow(devices)?;
        self.advance()?;
        Ok(&self.write_set)
    }

    /// Damages the medium of a device. `name` is the name of the fault in the log.
    pub(crate) fn damage(&mut self, dev: u32, damage: Damage, name: &str) {
        self.write_set.damage(dev, &damage);
        if let Some(reader) = &mut self.reader {
            reader.damage(dev, damage);
        }
        let mark = Event::Mark { name: format!("fault {name}") };
        hash_event(&mark, &mut self.log_hash);
        self.kept.iter_mut().for_each(|kept| kept.push(mark.clone()));
        self.recorded = None;
    }

    /// Adds a mark to the kept events only.
    fn keep_mark(&mut self, name: &str) {
        self.kept.iter_mut().for_each(|kept| kept.push(Event::Mark { name: name.to_owned() }));
    }

    /// Takes the events that the devices have logged. Clones that are made afterwards have the same
    /// write set, and each can enumerate the same crash disks.
    ///
    /// # Errors
    /// The log cannot be read or contradicts itself.
    pub fn follow(&mut self, devices: &dyn DiskSet) -> Result<(), StepError> {
        let events = devices.take_log()?;
        self.take(events)?;
        self.take_calls(devices);
        Ok(())
    }

    fn take(&mut self, events: Vec<Event>) -> Result<(), StepError> {
        for event in &events {
            hash_event(event, &mut self.log_hash);
        }
        if let Some(reader) = &mut self.reader {
            reader.extend(&events);
        }
        if let Some(kept) = &mut self.kept {
            kept.extend(events.iter().cloned());
        }
        if let Some(recorded) = &mut self.recorded {
            recorded.events.extend(events.iter().cloned());
        }
        let (new, before) = (self.log.len(), self.taken);
        self.taken += events.len();
        self.log.extend(events);
        for at in new..self.log.len() {
            if let Some(name) = requested_name(&self.log[at]) {
                let mut write_set = self.write_set.clone();
                for (index, event) in self.log[..at].iter().enumerate() {
                    write_set
                        .apply(event)
                        .map_err(|error| contradiction(LogContradiction { index, error }))?;
                }
                let recent = self.log[self.before.min(at)..at].to_vec();
                let settled = before + at - new;
                self.requests.push_back((name.to_owned(), AtMark { write_set, recent, settled }));
            }
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), StepError> {
        self.settle().map(drop)
    }

    /// Applies the events of the log to the write set and returns them.
    fn settle(&mut self) -> Result<Vec<Event>, StepError> {
        self.before = 0;
        let settled = std::mem::take(&mut self.log);
        for (index, event) in settled.iter().enumerate() {
            self.write_set
                .apply(event)
                .map_err(|error| contradiction(LogContradiction { index, error }))?;
        }
        Ok(settled)
    }
}

/// The mark at the start of an interval with crash checks, in the kept events.
pub const BEGIN_MARK: &str = "crash checks begin";
/// The mark at the end of an interval with crash checks.
pub const END_MARK: &str = "crash checks end";
/// The mark of a single moment with crash checks.
pub const NOW_MARK: &str = "crash checks now";

fn request_mark(when: Instants) -> &'static str {
    match when {
        Instants::Interval | Instants::Prefixes => END_MARK,
        Instants::Now | Instants::Soft => NOW_MARK,
    }
}

/// Returns an error unless the system stood still while its crash disks were checked. It may
/// continue now.
///
/// # Errors
/// The system did not stand still, or the log cannot be read.
pub(crate) fn check_still(devices: &dyn DiskSet) -> Result<(), StepError> {
    let moved = devices.take_log()?;
    devices.hold_still(false)?;
    let Some(event) = moved.first() else { return Ok(()) };
    Err(tool(format!(
        "the system did not stand still while its crash disks were checked: events logged \
         meanwhile: {}, the first one {}",
        moved.len(),
        events::summary_line(event)
    )))
}

/// Returns the error for a checker that reads the log without having declared it.
fn not_read() -> StepError {
    tool(
        "the checker reads or marks the log; declare that in its facts: \
         CheckerFacts::default().reads_log(true)"
            .to_owned(),
    )
}
