//! Events as a story has them: without their bytes, with what stands where they write.

use explode_ramdisk::{Event, Payload};

use super::probe::{Happened, Moment, Pending};
use crate::crash::{Epoch, Name, Neighbours};

/// What stands in a sector of a device, as far as anybody can tell.
pub(super) type Whose<'a> = &'a dyn Fn(u32, u64) -> Option<String>;

/// The moment of a disk that keeps these pieces: `first` is the instant before the events,
/// `issuers` who has caused them, as far as it is known.
pub(super) fn moment(
    neighbours: &Neighbours,
    pieces: &[Name],
    epoch: Epoch,
    (first, events): (u64, &[Event]),
    issuers: &[Option<String>],
    whose: Whose<'_>,
) -> Moment {
    let before = usize::try_from(neighbours.instant() - first).expect("as many as there are events");
    // Marks are no events of the count.
    let counted = |event: &&Event| !matches!(event, Event::Mark { .. });
    let until = events.iter().scan(0, |count, event| {
        *count += usize::from(counted(&event));
        (*count <= before).then_some(event)
    });
    let issuers = issuers.iter().cloned().chain(std::iter::repeat(None));
    let happened = until.zip(issuers).map(|(event, by)| Happened { by, ..happened(event, whose) }).collect();
    let later = events.iter().filter(counted).count() - before;
    Moment {
        place: neighbours.place,
        events: happened,
        later: later as u64,
        ranges: ranges(neighbours, pieces, epoch, whose),
    }
}

fn ranges(neighbours: &Neighbours, pieces: &[Name], epoch: Epoch, whose: Whose<'_>) -> Vec<Pending> {
    let mut ranges = Vec::new();
    for slot in neighbours.slots() {
        let possible = slot.versions.iter().filter(|version| neighbours.is_possible(epoch, version.since));
        let versions: Vec<(u32, u64)> = possible.map(|version| (version.number, version.serial)).collect();
        let first = slot.first_sector();
        let kept = versions.iter().map(|version| version.0);
        let kept = kept.into_iter().find(|number| pieces.contains(&(slot.dev, first, *number)));
        let sectors = slot.sectors.iter().map(|part| (part.start, part.end - part.start)).collect();
        if !versions.is_empty() {
            ranges.push(Pending { dev: slot.dev, sectors, whose: whose(slot.dev, first), versions, kept });
        }
    }
    ranges
}

pub(super) fn happened(event: &Event, whose: Whose<'_>) -> Happened {
    let bare = |what: &str| Happened {
        what: what.to_owned(),
        dev: None,
        range: None,
        id: None,
        notes: Vec::new(),
        whose: None,
        by: None,
    };
    let on = |what: &str, dev: u32, sector: u64, bytes: u64| Happened {
        dev: Some(dev),
        range: Some((sector, bytes)),
        whose: whose(dev, sector),
        ..bare(what)
    };
    match event {
        Event::Dirty { dev, sector, data } => on("dirty", *dev, *sector, data.len() as u64),
        Event::Clean { dev, sector, len } => on("clean", *dev, *sector, *len),
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
            Happened { id: Some(*id), notes, ..on("submit", *dev, *sector, payload.len()) }
        }
        Event::Complete { id, error } => {
            let notes = error.then(|| "error".to_owned()).into_iter().collect();
            Happened { id: Some(*id), notes, ..bare("complete") }
        }
        Event::Flush { id, dev } => Happened { id: Some(*id), dev: Some(*dev), ..bare("flush") },
        Event::Mark { name } => Happened { notes: vec![name.clone()], ..bare("mark") },
    }
}
