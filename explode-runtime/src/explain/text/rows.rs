//! The rows up to a crash: the calls on files in order, below each the block events that it caused,
//! and beside each whether the crash kept or lost its effect.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::CallText;

use super::fold::{Fate, Row};
use crate::events::{EventSummary, PlacedCall, describe};
use crate::worker::probe::{CrashMoment, PendingRange};

/// The form in which a moment is shown.
#[derive(Clone, Copy)]
pub(super) struct Telling {
    /// True if every event is shown unchanged.
    pub all: bool,
    /// True if the lowest layer is simulated files. Then the calls contain all information of the
    /// events.
    pub simulated: bool,
}

/// Returns true if the call caused a version that is visible since this event.
fn caused(call: &PlacedCall, since: u64) -> bool {
    call.from < since && call.to.is_none_or(|to| since <= to)
}

/// Returns the number of the innermost call that wrote a version.
pub(super) fn call_of(moment: &CrashMoment, range: usize, version: u32) -> Option<usize> {
    let range = moment.ranges.get(range)?;
    let at = range.versions.iter().position(|(number, _)| *number == version)?;
    let since = *range.since.get(at)?;
    moment.calls.iter().rposition(|call| caused(call, since))
}

/// Returns the ranges that the call has written, with true if the call's newest version or a later
/// one is kept.
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

/// Returns a note on the lost part of a call's effect: the first range and the number of others.
fn lost_of(moment: &CrashMoment, call: &PlacedCall) -> String {
    let mut lost = ranges_of(moment, call).filter(|(_, kept)| !kept).map(|(range, _)| range);
    let Some(first) = lost.next() else { return String::new() };
    let place = match &first.owner {
        Some(owner) => owner.clone(),
        None => format!("sector {}", first.name(0).1),
    };
    match lost.count() {
        0 => format!("(lost: {place})"),
        more => format!("(lost: {place}, and {more} more)"),
    }
}

/// Returns the fate of the event's write. `at` is the number of the event.
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

/// Returns the rows of a moment in order. Rows with a fate had a pending effect. The row of the
/// call number `critical` has a note.
pub(super) fn rows(moment: &CrashMoment, telling: Telling, critical: Option<usize>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut events = Events::new(moment, telling);
    // The calls that have not returned, with their rows.
    let mut open: Vec<(&PlacedCall, usize)> = Vec::new();
    for (number, call) in moment.calls.iter().enumerate().filter(|(_, call)| is_shown(call)) {
        while let Some((last, _)) = open.last().copied()
            && last.to.is_some_and(|to| to <= call.from)
            && !encloses(last, call)
        {
            rows.extend(events.until(last.to, open.len(), true));
            open.pop();
        }
        rows.extend(events.until(Some(call.from), open.len(), !open.is_empty()));
        // A component that only passes a call on gets no row.
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

/// Returns true if the call is shown. The start of a mutate is not, because the choices describe
/// it.
pub(super) fn is_shown(call: &PlacedCall) -> bool {
    !call.call.head.starts_with("(mutate ")
}

/// Returns true if the outer call made the inner one. A component makes calls to serve those of
/// another.
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

/// Returns the name of a mark with this prefix: an operation of a soft crash, or a fault.
fn marked<'e>(event: &'e EventSummary, words: &str) -> Option<&'e str> {
    event.notes.iter().map(String::as_str).find(|name| name.starts_with(words))
}

/// The events of a moment, consumed in order.
struct Events<'a> {
    moment: &'a CrashMoment,
    telling: Telling,
    next: usize,
    /// The number of events before the next one, without marks.
    at: u64,
    /// The requests that are shown, so that their completion is not.
    submitted: BTreeSet<u64>,
    /// The requests that have ended. True if a request ended with an error.
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

    /// Returns the rows of the events before this place, at this depth. `in_call` is true if a call
    /// has caused them.
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

    /// Returns an event in words. `None` if the event is not shown.
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

    /// Adds the place of the event: a name in simulated files, or sectors on a disk.
    fn place(&self, words: &mut CallText, event: &EventSummary) {
        match (&event.owner, event.range) {
            (Some(owner), _) if self.telling.simulated => words.head += &format!(" {owner}"),
            (owner, Some((sector, bytes))) => {
                let device = event.dev.filter(|_| self.devices > 1);
                device.iter().for_each(|dev| words.head += &format!(" device {dev}"));
                words.head += " sector";
                words.span = Some((sector, bytes / 512));
                owner.iter().for_each(|owner| words.add(&format!("({owner})")));
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
