//! What happened up to a crash: the calls on files in their order, below each the block events that
//! it caused, and beside each whether the crash kept or lost its effect.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::CallText;

use super::fold::{Fate, Row};
use crate::events::{EventSummary, PlacedCall, describe};
use crate::worker::probe::{CrashMoment, PendingRange};

/// The form in which a moment is shown.
#[derive(Clone, Copy)]
pub(super) struct Telling {
    /// Every event, as it is.
    pub all: bool,
    /// The lowest layer is simulated files: its calls say all that its events say.
    pub simulated: bool,
}

/// Was a version of this range, visible since this event, caused by the call?
fn caused(call: &PlacedCall, since: u64) -> bool {
    call.from < since && call.to.is_none_or(|to| since <= to)
}

/// The number of the call that wrote a version: the innermost one.
pub(super) fn call_of(moment: &CrashMoment, range: usize, version: u32) -> Option<usize> {
    let range = moment.ranges.get(range)?;
    let at = range.versions.iter().position(|(number, _)| *number == version)?;
    let since = *range.since.get(at)?;
    moment.calls.iter().rposition(|call| caused(call, since))
}

/// The ranges that the call has written, and whether each is kept: its newest version counts.
fn ranges_of<'a>(
    moment: &'a CrashMoment,
    call: &'a PlacedCall,
) -> impl Iterator<Item = (&'a PendingRange, bool)> {
    moment.ranges.iter().filter_map(|range| {
        let mut versions = range.versions.iter().zip(&range.since);
        let (version, _) = versions.rfind(|(_, since)| caused(call, **since))?;
        Some((range, range.kept.is_some_and(|kept| kept >= version.0)))
    })
}

fn fate_of_call(moment: &CrashMoment, call: &PlacedCall) -> Option<Fate> {
    Fate::of(ranges_of(moment, call).map(|(_, kept)| kept))
}

/// Which part of a call's effect is lost: the first range, and how many more.
fn lost_of(moment: &CrashMoment, call: &PlacedCall) -> String {
    let mut lost = ranges_of(moment, call).filter(|(_, kept)| !kept).map(|(range, _)| range);
    let Some(first) = lost.next() else { return String::new() };
    let place = match &first.owner {
        Some(whose) => whose.clone(),
        None => format!("sector {}", first.name(0).1),
    };
    match lost.count() {
        0 => format!("(lost: {place})"),
        more => format!("(lost: {place}, and {more} more)"),
    }
}

/// What became of what the event, the `at`th of all, has written.
fn fate_of_event(moment: &CrashMoment, event: &EventSummary, at: u64) -> Option<Fate> {
    if !matches!(event.what.as_str(), "dirty" | "submit") {
        return None;
    }
    let (dev, (sector, bytes)) = (event.dev?, event.range?);
    let touches = |range: &&PendingRange| {
        let end = sector + bytes / 512;
        let mut parts = range.sectors.iter();
        range.dev == dev && parts.any(|(first, count)| *first < end && sector < first + count)
    };
    Fate::of(moment.ranges.iter().filter(touches).filter_map(|range| {
        let mut versions = range.versions.iter().zip(&range.since);
        let (version, _) = versions.rfind(|(_, since)| **since <= at)?;
        Some(range.kept.is_some_and(|kept| kept >= version.0))
    }))
}

/// The rows of a moment in their order. Those of a fate belong to what is pending. The row of the
/// critical call, given by its number, has a note.
pub(super) fn rows(moment: &CrashMoment, telling: Telling, critical: Option<usize>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut events = Events::new(moment, telling);
    // Calls that have not returned, and their rows.
    let mut open: Vec<(&PlacedCall, usize)> = Vec::new();
    for (number, call) in moment.calls.iter().enumerate().filter(|(_, call)| is_told(call)) {
        while let Some((last, _)) = open.last().copied()
            && last.to.is_some_and(|to| to <= call.from)
            && !encloses(last, call)
        {
            rows.extend(events.until(last.to, open.len(), true));
            open.pop();
        }
        rows.extend(events.until(Some(call.from), open.len(), !open.is_empty()));
        // A component that passes a call on says nothing new.
        let passed_on =
            |(outer, _): &&(&PlacedCall, usize)| outer.call == call.call && encloses(outer, call);
        let row = match open.last().filter(passed_on) {
            Some((_, row)) => *row,
            None => {
                rows.push(row_of(moment, call, open.len()));
                open.push((call, rows.len() - 1));
                rows.len() - 1
            }
        };
        if critical == Some(number) {
            rows[row].note = Some("critical".to_owned());
        }
    }
    while let Some((last, _)) = open.pop() {
        rows.extend(events.until(last.to, open.len() + 1, true));
    }
    rows.extend(events.until(None, 0, false));
    rows
}

/// Where a mutate begins, its choices say what it does.
pub(super) fn is_told(call: &PlacedCall) -> bool {
    !call.call.head.starts_with("(mutate ")
}

/// Was the inner call made by the outer one? A component makes its calls for those of another.
fn encloses(outer: &PlacedCall, inner: &PlacedCall) -> bool {
    outer.by != inner.by
        && outer.from <= inner.from
        && outer.to.is_none_or(|to| inner.to.is_some_and(|inner| inner <= to))
        && outer.to != Some(outer.from)
}

fn row_of(moment: &CrashMoment, call: &PlacedCall, depth: usize) -> Row {
    let mut words = call.call.clone();
    if let Some(error) = &call.error {
        words.add(&format!("= {error}"));
    } else if call.to.is_none() {
        words.add("(the crash came during it)");
    }
    let fate = fate_of_call(moment, call);
    if fate == Some(Fate::Partly) {
        words.add(&lost_of(moment, call));
    }
    Row { depth, fate, words, times: 1, note: None }
}

/// The name of a mark that begins with these words: an operation of a soft crash, or a fault.
fn marked<'e>(event: &'e EventSummary, words: &str) -> Option<&'e str> {
    event.notes.iter().map(String::as_str).find(|name| name.starts_with(words))
}

/// The events of a moment, taken in their order.
struct Events<'a> {
    moment: &'a CrashMoment,
    telling: Telling,
    next: usize,
    /// Events before the next one, marks not counted.
    at: u64,
    /// Requests whose completion says nothing more.
    submitted: BTreeSet<u64>,
    /// Which requests have ended, and how: with an error?
    ended: BTreeMap<u64, bool>,
    devices: usize,
}

impl<'a> Events<'a> {
    fn new(moment: &'a CrashMoment, telling: Telling) -> Events<'a> {
        let counted = moment.events.iter().filter(|event| event.what != "mark");
        let before = counted.take(usize::try_from(moment.crash - moment.first).unwrap_or_default());
        let ended = before.filter(|event| event.what == "complete");
        let ended = ended.filter_map(|event| Some((event.id?, !event.notes.is_empty())));
        let devices: BTreeSet<u32> = moment.events.iter().filter_map(|event| event.dev).collect();
        Events {
            moment,
            telling,
            next: 0,
            at: moment.first,
            submitted: BTreeSet::new(),
            ended: ended.collect(),
            devices: devices.len(),
        }
    }

    /// Those before this place, at this depth; `in_call` if a call has caused them.
    fn until(&mut self, to: Option<u64>, depth: usize, in_call: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        while let Some(event) = self.moment.events.get(self.next) {
            let is_mark = event.what == "mark";
            let to = to.unwrap_or(self.moment.crash).min(self.moment.crash);
            if self.at + u64::from(!is_mark) > to {
                break;
            }
            self.next += 1;
            self.at += u64::from(!is_mark);
            let is_fault = is_mark && marked(event, "fault ").is_some();
            if self.telling.simulated && in_call && !self.telling.all && !is_fault {
                continue;
            }
            if let Some(words) = self.words(event) {
                let fate = fate_of_event(self.moment, event, self.at);
                rows.push(Row { depth, fate, words, times: 1, note: None });
            }
        }
        rows
    }

    /// An event in words; `None` if it tells a reader nothing.
    fn words(&mut self, event: &EventSummary) -> Option<CallText> {
        if self.telling.all {
            return Some(CallText::bare(&format!("{} {}", event.what, describe(event))));
        }
        let verb = match event.what.as_str() {
            "mark" => {
                let name = marked(event, "operation ").or_else(|| marked(event, "fault "))?;
                return Some(CallText::bare(name));
            }
            "dirty" => "dirty",
            "clean" => "forget",
            "submit" => "write",
            "flush" => "flush",
            "complete" if !event.id.is_some_and(|id| self.submitted.contains(&id)) => "complete",
            _ => return None,
        };
        let mut words = CallText::bare(verb);
        self.place(&mut words, event);
        event.notes.iter().for_each(|note| words.add(&note_of(note)));
        match event.id {
            Some(id) if verb == "complete" => words.add(&format!("of an earlier request, {id}")),
            Some(id) => {
                self.submitted.insert(id);
                match self.ended.get(&id) {
                    Some(true) => words.add("= I/O error"),
                    Some(false) => {}
                    None => words.add("(in flight)"),
                }
            }
            None => {}
        }
        // The checker runs in explode itself.
        event.by.iter().filter(|by| *by != "explode").for_each(|by| words.add(&format!("by {by}")));
        Some(words)
    }

    /// Adds where the event writes: in simulated files a name, on a disk its sectors.
    fn place(&self, words: &mut CallText, event: &EventSummary) {
        match (&event.owner, event.range) {
            (Some(whose), _) if self.telling.simulated => words.head += &format!(" {whose}"),
            (whose, Some((sector, bytes))) => {
                let device = event.dev.filter(|_| self.devices > 1);
                device.iter().for_each(|dev| words.head += &format!(" device {dev}"));
                words.head += " sector";
                words.span = Some((sector, bytes / 512));
                whose.iter().for_each(|whose| words.add(&format!("({whose})")));
            }
            (_, None) => {}
        }
    }
}

fn note_of(note: &str) -> String {
    match note {
        "fua" | "preflush" => note.to_uppercase(),
        "error" => "= I/O error".to_owned(),
        other => other.to_owned(),
    }
}
