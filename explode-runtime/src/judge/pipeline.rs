//! A running system's log, followed to the crash disks that checkers ask for.
//!
//! A [`CrashPipeline`] belongs to one run of the system. It follows the system's log, and when a
//! checker asks for crash checks it gives the request with every disk of the interval. It knows no
//! strategy and no report.

use std::collections::VecDeque;
use std::ops::Range;

use explode_ramdisk::{Event, Image, ReadFault};
use xxhash_rust::xxh3::Xxh3;

use super::contradiction::{contradiction, tool};
use super::reader::{AtMark, LogReader, mark};
use super::request::{CandidateDisk, OpenRequest};
use super::stacks::CrashStacks;
use crate::base::StepError;
use crate::check::{CrashRequest, LogPlace};
use crate::choose::{Choice, choices_hash};
use crate::crash::{Instants, IntervalCounts, SampleLimits, SampleSeed};
use crate::devices::{Backend, DiskSet, HostId, SoftCrashLog};
use crate::events::{self, asked_name, hash_event};
use crate::plan::Plan;
use crate::stack::Blueprint;
use crate::writeset::{LogContradiction, WriteSet};

/// The stages behind one running system.
#[derive(Clone)]
pub struct CrashPipeline<'a> {
    pub(super) judge: CrashStacks<'a>,
    /// What could be on disk after the events before `log`.
    pub(super) write_set: WriteSet,
    /// The events since then: those of the interval, if one has begun.
    pub(super) log: Vec<Event>,
    pub(super) log_hash: Xxh3,
    in_interval: bool,
    /// The calls that soft crashes repeat, where the log has no contents.
    pub(super) soft: Option<Box<dyn SoftCrashLog>>,
    /// The events between the last two requests, where the last one was about one instant.
    recent: Vec<Event>,
    /// The log for the checker, if it reads it.
    reader: Option<LogReader>,
    /// So many events of `log` came before the last request.
    before: usize,
    /// Open requests for crash checks that the checker did not make itself, oldest first.
    requests: VecDeque<(String, AtMark)>,
    /// The one of them whose turn it is.
    turn: Option<AtMark>,
    /// The write set at the mark whose disks were asked for last.
    at_mark: Option<WriteSet>,
    /// All events from the beginning, if they are wanted.
    kept: Option<Vec<Event>>,
}

impl<'a> CrashPipeline<'a> {
    /// Follows a system that was started on `base`.
    pub fn new(
        blueprint: &'a Blueprint,
        plan: &'a Plan,
        backend: &'a dyn Backend,
        base: Image,
    ) -> CrashPipeline<'a> {
        // The events mean something only together with what they began on.
        let mut log_hash = Xxh3::new();
        log_hash.update(&base.identity().0.to_le_bytes());
        let write_set = WriteSet::new(base.clone(), plan.settings.rules);
        let judge = CrashStacks::new(blueprint, plan, backend);
        let soft = if plan.settings.soft { backend.soft_crashes(base) } else { None };
        CrashPipeline {
            judge,
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
        }
    }

    /// The same for a system on another host: it has a log and crash disks of its own.
    #[must_use = "this returns the pipeline of the host"]
    pub fn of_host(self, host: HostId) -> CrashPipeline<'a> {
        CrashPipeline { judge: self.judge.of_host(host), ..self }
    }

    /// What follows begins anew, on what was put to rest as `base`. The events from the beginning
    /// go on.
    pub(crate) fn chop(&mut self, base: Image) {
        let judge = self.judge;
        let CrashStacks { blueprint, plan, backend, .. } = judge;
        let is_read = self.reader.is_some();
        *self = CrashPipeline {
            judge,
            kept: self.kept.take(),
            ..CrashPipeline::new(blueprint, plan, backend, base)
        };
        if is_read {
            self.keep_for_checker();
        }
    }

    /// Keeps the log for the checker from here on. It is called before the first event.
    pub(crate) fn keep_for_checker(&mut self) {
        self.reader = Some(LogReader::new(self.write_set.clone()));
    }

    /// The events since the checker's last call of this, or since the start. The engine keeps its
    /// own.
    ///
    /// # Errors
    /// The log cannot be read, or the checker does not say that it reads it.
    pub(crate) fn read_log(&mut self, devices: &dyn DiskSet) -> Result<Vec<Event>, StepError> {
        self.follow(devices)?;
        Ok(self.reader.as_mut().ok_or_else(not_read)?.unread())
    }

    /// Adds a mark of the checker to the log.
    ///
    /// # Errors
    /// As [`read_log`](CrashPipeline::read_log).
    pub(crate) fn mark(&mut self, devices: &dyn DiskSet, name: &str) -> Result<(), StepError> {
        self.follow(devices)?;
        if self.reader.is_none() {
            return Err(not_read());
        }
        self.take(vec![mark(name)])
    }

    /// The name of the oldest open request, if there is one: [`LogPlace::Request`] is its place
    /// from now on.
    ///
    /// # Errors
    /// As [`CrashPipeline::begin`].
    pub(crate) fn next_request(
        &mut self,
        devices: &dyn DiskSet,
    ) -> Result<Option<String>, StepError> {
        self.follow(devices)?;
        let Some((name, at)) = self.requests.pop_front() else { return Ok(None) };
        self.turn = Some(at);
        Ok(Some(name))
    }

    /// From now on all events are kept, for [`CrashPipeline::into_events`].
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
    pub fn begin(&mut self, devices: &dyn DiskSet) -> Result<(), StepError> {
        self.follow(devices)?;
        self.advance()?;
        self.in_interval = true;
        self.keep_mark(BEGIN_MARK);
        Ok(())
    }

    /// An interval ends here and is not checked (a replay of checks already made).
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

    /// The interval that ends here, to go through its crash disks; [`skip`](CrashPipeline::skip)
    /// goes on from there. `interval` is its number in the run, `made` the choices that led here.
    ///
    /// # Errors
    /// The log cannot be read, or an event contradicts it.
    pub fn asked<'s>(
        &'s mut self,
        devices: &dyn DiskSet,
        ask: &CrashRequest<'s>,
        (interval, made): (u64, &[Choice]),
    ) -> Result<OpenRequest<'s>, StepError> {
        self.follow(devices)?;
        self.keep_mark(request_mark(ask.when));
        devices.hold_still(true)?;
        self.recent.clear();
        let in_interval = self.in_interval;
        if let Some(at) = ask.at {
            if devices.kernel().is_some_and(|kernel| kernel.notes_operations()) {
                return Err(tool(
                    "crash checks at a mark do not go together with soft crashes on a kernel"
                        .to_owned(),
                ));
            }
            let AtMark { write_set, recent } = match at {
                LogPlace::Mark(name) => self.reader.as_ref().ok_or_else(not_read)?.at(name)?,
                LogPlace::Request => self
                    .turn
                    .clone()
                    .ok_or_else(|| tool("there is no open request for crash checks".to_owned()))?,
            };
            (self.at_mark, self.recent) = (Some(write_set), recent);
        } else if ask.when != Instants::Interval && !in_interval {
            self.recent.extend_from_slice(&self.log[self.before..]);
            self.advance()?;
        }
        self.before = self.log.len();
        if devices.kernel().is_some_and(|kernel| kernel.notes_operations()) {
            self.repeat_calls(devices)?;
        }
        let settings = &self.judge.plan.settings;
        let seed = SampleSeed { seed: settings.seed, choices: choices_hash(made), interval };
        let limits = SampleLimits { limit: settings.limit, samples: settings.samples, seed };
        // Without a word from the checker no two requests for crash checks are alike: it may
        // remember each mutate and call.
        let place = || [&seed.choices.to_le_bytes()[..], &interval.to_le_bytes()].concat();
        let rest = ask.checker.disk_check_key().unwrap_or_else(place);
        let when = match ask.when {
            Instants::Now if settings.soft => Instants::Soft,
            Instants::Interval if settings.soft => Instants::Prefixes,
            when => when,
        };
        let CrashRequest { begin, args, .. } = *ask;
        let log_hash = self.log_hash.digest128();
        let CrashPipeline { write_set, log, recent, at_mark, .. } = self;
        let (write_set, log) = match (ask.at, at_mark) {
            (Some(_), Some(write_set)) => (&*write_set, &[][..]),
            _ => (&*write_set, &log[..]),
        };
        Ok(OpenRequest { write_set, log, recent, when, limits, begin, args, rest, log_hash })
    }

    /// Takes every crash disk of the interval that ends here to `visit`, once per epoch in which it
    /// is possible. `at` is as in [`asked`](CrashPipeline::asked).
    ///
    /// # Errors
    /// The log cannot be read, or an event contradicts it; or the devices did not stay as they were
    /// while others were visited.
    pub fn candidates(
        &mut self,
        devices: &dyn DiskSet,
        ask: &CrashRequest<'_>,
        at: (u64, &[Choice]),
        visit: impl FnMut(&CandidateDisk<'_>),
    ) -> Result<IntervalCounts, StepError> {
        let walked = self.asked(devices, ask, at)?.walk(visit);
        stood_still(devices)?;
        let (counts, write_set) = walked?;
        if ask.when == Instants::Interval {
            self.write_set = write_set;
            self.log.clear();
            self.before = 0;
            self.in_interval = false;
        }
        Ok(counts)
    }

    /// The run's seed.
    pub(crate) fn seed(&self) -> u64 {
        self.judge.plan.settings.seed
    }

    /// What the devices hold after a crash that loses everything that was not flushed.
    ///
    /// # Errors
    /// As [`CrashPipeline::begin`].
    pub fn durable(&mut self, devices: &dyn DiskSet) -> Result<Image, StepError> {
        Ok(self.catch_up(devices)?.durable().clone())
    }

    /// Who judges the crash disks of this run.
    pub fn judge(&self) -> CrashStacks<'a> {
        self.judge
    }

    /// A mutate begins: what was done before is applied, and no interval is open.
    ///
    /// # Errors
    /// As [`CrashPipeline::begin`].
    pub(crate) fn catch_up(&mut self, devices: &dyn DiskSet) -> Result<&WriteSet, StepError> {
        self.in_interval = false;
        self.follow(devices)?;
        self.advance()?;
        Ok(&self.write_set)
    }

    /// Sectors of a medium go bad, which has a name.
    pub(crate) fn damage(&mut self, dev: u32, sectors: Range<u64>, fault: ReadFault, name: &str) {
        if let Some(reader) = &mut self.reader {
            reader.damage(dev, sectors.clone(), fault);
        }
        self.write_set.damage(dev, sectors, fault);
        let mark = Event::Mark { name: format!("fault {name}") };
        hash_event(&mark, &mut self.log_hash);
        self.kept.iter_mut().for_each(|kept| kept.push(mark.clone()));
    }

    /// A place that only those hear of who keep the events.
    fn keep_mark(&mut self, name: &str) {
        self.kept.iter_mut().for_each(|kept| kept.push(Event::Mark { name: name.to_owned() }));
    }

    /// Takes the events that the devices have logged. Clones that are made after that begin with
    /// the same write set, and each can enumerate the same disks.
    ///
    /// # Errors
    /// The log cannot be read, or contradicts itself.
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
        let new = self.log.len();
        self.log.extend(events);
        for at in new..self.log.len() {
            if let Some(name) = asked_name(&self.log[at]) {
                let mut write_set = self.write_set.clone();
                for (index, event) in self.log[..at].iter().enumerate() {
                    write_set
                        .apply(event)
                        .map_err(|error| contradiction(LogContradiction { index, error }))?;
                }
                let recent = self.log[self.before.min(at)..at].to_vec();
                self.requests.push_back((name.to_owned(), AtMark { write_set, recent }));
            }
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), StepError> {
        self.before = 0;
        for (index, event) in self.log.drain(..).enumerate() {
            self.write_set
                .apply(&event)
                .map_err(|error| contradiction(LogContradiction { index, error }))?;
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

fn request_mark(when: Instants) -> &'static str {
    match when {
        Instants::Interval | Instants::Prefixes => END_MARK,
        Instants::Now | Instants::Soft => NOW_MARK,
    }
}

/// Did the system stand still while its crash disks were checked? It goes on now.
///
/// # Errors
/// It did not, or the log cannot be read.
pub(crate) fn stood_still(devices: &dyn DiskSet) -> Result<(), StepError> {
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

/// A checker that has not said that it reads the log does.
fn not_read() -> StepError {
    tool(
        "the checker reads or marks the log; let its facts say so: \
         CheckerFacts::default().reads_log(true)"
            .to_owned(),
    )
}
