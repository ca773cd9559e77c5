//! Summaries of events: events without their bytes, with the owner of the sectors that they write.

use explode_ramdisk::{Event, Payload};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// An event of the log, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSummary {
    /// `dirty`, `clean`, `lock`, `unlock`, `submit`, `complete`, `flush` or `mark`.
    pub what: String,
    /// The device, if the event names one.
    pub dev: Option<u32>,
    /// The first sector and the number of bytes, if the event has a range.
    pub range: Option<(u64, u64)>,
    /// The number of the request, if the event has one.
    pub id: Option<u64>,
    /// `fua`, `preflush`, `zeroes`, `discard`, `error`, or a mark's name.
    pub notes: Vec<String>,
    /// The owner of the sectors, such as a file, if a component can identify it.
    #[serde(rename = "whose")]
    pub owner: Option<String>,
    /// The task that caused the event, if it is known.
    pub by: Option<String>,
}

/// A function that returns the owner of a sector of a device, if it is known.
pub(crate) type DescribeSector<'a> = &'a dyn Fn(u32, u64) -> Option<String>;

/// Returns the summary of an event.
pub(crate) fn summarise(event: &Event, describe_sector: DescribeSector<'_>) -> EventSummary {
    let bare = |kind: &str| EventSummary {
        what: kind.to_owned(),
        dev: None,
        range: None,
        id: None,
        notes: Vec::new(),
        owner: None,
        by: None,
    };
    let on = |kind: &str, dev: u32, sector: u64, bytes: u64| EventSummary {
        dev: Some(dev),
        range: Some((sector, bytes)),
        owner: describe_sector(dev, sector),
        ..bare(kind)
    };
    match event {
        Event::Dirty { dev, sector, data } => on("dirty", *dev, *sector, data.len() as u64),
        Event::Clean { dev, sector, len } => on("clean", *dev, *sector, *len),
        Event::Append { dev, sector, data } => on("append", *dev, *sector, data.len() as u64),
        Event::Lock { dev, sector, len } => on("lock", *dev, *sector, *len),
        Event::Unlock { dev, sector, len } => on("unlock", *dev, *sector, *len),
        Event::Submit { id, dev, sector, payload, flags } => {
            let kind = match payload {
                Payload::Data(_) => None,
                Payload::Zeroes(_) => Some("zeroes"),
                Payload::Discard(_) => Some("discard"),
            };
            let notes = [kind, flags.fua.then_some("fua"), flags.preflush.then_some("preflush")];
            let notes = notes.into_iter().flatten().map(str::to_owned).collect();
            EventSummary { id: Some(*id), notes, ..on("submit", *dev, *sector, payload.len()) }
        }
        Event::Complete { id, error } => {
            let notes = error.then(|| "error".to_owned()).into_iter().collect();
            EventSummary { id: Some(*id), notes, ..bare("complete") }
        }
        Event::Flush { id, dev } => {
            EventSummary { id: Some(*id), dev: Some(*dev), ..bare("flush") }
        }
        Event::Mark { name } => EventSummary { notes: vec![name.clone()], ..bare("mark") },
    }
}

/// Returns an event as one line, without its bytes.
pub(crate) fn summary_line(event: &Event) -> String {
    let event = summarise(event, &|_, _| None);
    [event.what.clone(), describe(&event)].join(" ").trim_end().to_owned()
}

/// Returns the text of a summary after its kind.
pub(crate) fn describe(event: &EventSummary) -> String {
    let EventSummary { dev, range, id, notes, owner, by, .. } = event;
    let mut words = Vec::new();
    id.iter().for_each(|id| words.push(format!("request {id}")));
    dev.iter().for_each(|dev| words.push(format!("device {dev}")));
    range.iter().for_each(|(sector, bytes)| words.push(format!("sector {sector}, {bytes} bytes")));
    words.extend(notes.iter().cloned());
    by.iter().for_each(|by| words.push(format!("by {by}")));
    let text = words.join(" ");
    owner.as_ref().map_or(text.clone(), |owner| format!("{text}: {owner}"))
}

/// The largest number of events of a run that are compared.
const EVENTS: usize = 100_000;

/// Returns an event as one line: its summary and a hash of its contents.
fn line(event: &Event) -> String {
    let short = summary_line(event);
    match event {
        Event::Dirty { data, .. }
        | Event::Append { data, .. }
        | Event::Submit { payload: Payload::Data(data), .. } => {
            format!("{short}, contents {:08x}", xxh3_64(data) as u32)
        }
        _ => short,
    }
}

/// Returns the events of a run, one line each.
pub(crate) fn event_lines(events: &[Event]) -> Vec<String> {
    events.iter().take(EVENTS).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_with_equal_contents_have_equal_lines() {
        let dirty = |byte| Event::Dirty { dev: 1, sector: 8, data: vec![byte; 512].into() };
        assert_eq!(line(&dirty(1)), line(&dirty(1)));
        assert_ne!(line(&dirty(1)), line(&dirty(2)));
        assert!(line(&dirty(1)).starts_with("dirty device 1 sector 8, 512 bytes, contents "));
    }
}
