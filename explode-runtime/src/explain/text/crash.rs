//! A crash in a story: the calls and events before it, and the effects that it kept and lost.

use super::fit::Part;
use super::fold::{Fate, Row, fold};
use super::rows::{Telling, call_of, is_shown, rows};
use crate::explain::critical::{Critical, CriticalSearch};
use crate::report::{Colour, Line};
use crate::worker::probe::{CrashMoment, PendingRange, StoppedAt};

/// Adds the parts about the crash of this level: 0 is the first, the others are crashes during
/// recovery. `critical` is the critical write of this moment. `None` if it was not searched for
/// here.
pub(super) fn parts(
    parts: &mut Vec<Part>,
    stopped: &StoppedAt,
    level: usize,
    critical: Option<&CriticalSearch>,
    telling: Telling,
) {
    let Some(moment) = stopped.moments.get(level) else { return };
    let critical = match critical {
        Some(CriticalSearch::Found(critical)) => Some(critical),
        _ => None,
    };
    let of = match level {
        0 => format!("up to the crash in request {} for crash checks", stopped.spot.interval + 1),
        1 => "of its recovery, up to the next crash".to_owned(),
        _ => "of the recovery from that, up to the next crash".to_owned(),
    };
    timeline(parts, &of, moment, critical, telling);
    let crash = match level {
        0 => {
            let epoch = format!("epoch {}", stopped.spot.epoch);
            match &stopped.spot.args[..] {
                [] => epoch,
                args => format!("{epoch}; the check gets: {}", args.join(" ")),
            }
        }
        _ => "during that recovery".to_owned(),
    };
    pending(parts, &crash, moment, critical, telling);
}

fn timeline(
    parts: &mut Vec<Part>,
    of: &str,
    moment: &CrashMoment,
    critical: Option<&Critical>,
    telling: Telling,
) {
    let call = critical.and_then(|critical| call_of(moment, critical.range, critical.version));
    let rows = rows(moment, telling, call);
    let rows = if telling.all { rows } else { fold(rows) };
    let word = if moment.calls.iter().any(is_shown) { "Calls" } else { "Events" };
    let counted = moment.events.iter().filter(|event| event.what != "mark").count() as u64;
    let after = match moment.later + (moment.first + counted - moment.crash) {
        0 => String::new(),
        1 => "; 1 event came after it".to_owned(),
        later => format!("; {later} events came after it"),
    };
    parts.push(Part::whole(vec![Line::status(word, &format!("{of}{after}"))]));
    let noted = rows.iter().position(|row| row.note.is_some());
    let has_row = |call: usize| moment.calls.get(call).is_some_and(is_shown);
    assert!(noted.is_some() || !call.is_some_and(has_row), "the critical call has its note");
    let pending = (0..rows.len()).rev().filter(|at| rows[*at].fate == Some(Fate::Lost));
    let wanted = noted.into_iter().chain(pending.filter(|at| Some(*at) != noted)).collect();
    parts.push(Part::list(rows.iter().map(line).collect(), wanted));
}

fn line(row: &Row) -> Line {
    let line = Line::detail(row.fate.map_or("", Fate::word), &row.text());
    line.coloured(match row.fate {
        Some(Fate::Kept) => Colour::Green,
        Some(Fate::Lost | Fate::Partly) => Colour::Red,
        None => Colour::Plain,
    })
}

fn pending(
    parts: &mut Vec<Part>,
    crash: &str,
    moment: &CrashMoment,
    critical: Option<&Critical>,
    telling: Telling,
) {
    let ranges = &moment.ranges;
    let kept = ranges.iter().filter(|range| range.kept.is_some()).count();
    let lost = ranges.iter().filter(|range| range.kept != range.newest()).count();
    let text = format!("{crash}; of {} pending ranges {kept} kept, {lost} lost", ranges.len());
    parts.push(Part::whole(vec![Line::status("Crash", &text)]));
    let lines = ranges.iter().map(|range| {
        let (word, colour) = match range.kept {
            None => ("lost", Colour::Red),
            kept if kept == range.newest() => ("kept", Colour::Green),
            Some(_) => ("kept old", Colour::Yellow),
        };
        Line::detail(word, &in_words(range, telling)).coloured(colour)
    });
    let wanted = critical.map(|critical| critical.range).into_iter().collect();
    parts.push(Part::list(lines.collect(), wanted));
}

/// Describes a range and its versions.
fn in_words(range: &PendingRange, telling: Telling) -> String {
    let versions = match (range.kept, &range.versions[..]) {
        (_, [_]) => String::new(),
        (Some(kept), versions) => format!(", version {kept} of {}", list(versions)),
        (None, versions) => format!(", versions {}", list(versions)),
    };
    let (place, bytes) = (place(range, telling), range.bytes());
    match telling.names_files(range) {
        true => format!("{place}{versions}"),
        false => format!("{place}, {bytes} bytes{versions}"),
    }
}

/// Returns the place of a range in the terms of the stack's lowest layer.
pub(super) fn place(range: &PendingRange, telling: Telling) -> String {
    let sector = || format!("device {} sector {}", range.dev, range.name(0).1);
    match &range.owner {
        Some(owner) if telling.names_files(range) => owner.clone(),
        Some(owner) => format!("{} ({owner})", sector()),
        None => sector(),
    }
}

impl Telling {
    /// Returns true if the place of a range is shown as the name and offset of a file only.
    fn names_files(self, range: &PendingRange) -> bool {
        self.simulated && !self.all && range.owner.is_some()
    }
}

/// Returns the numbers of versions. Three or more consecutive ones are shown as the first and the
/// last.
fn list(versions: &[(u32, u64)]) -> String {
    let numbers: Vec<u32> = versions.iter().map(|version| version.0).collect();
    match &numbers[..] {
        [first, .., last] if numbers.len() > 2 && (*first..=*last).eq(numbers.iter().copied()) => {
            format!("{first} to {last}")
        }
        _ => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}
