//! The moment of a crash as a story has it: events without their bytes, with the owner of each
//! range.

use explode_ramdisk::Event;

use crate::crash::{Epoch, Neighbours, PieceName};
use crate::events::{DescribeSector, EventSummary, PlacedCall, summarise};
use crate::worker::probe::protocol::{CrashMoment, PendingRange};

/// Returns the moment of a disk that keeps these pieces. `first` is the instant before the events.
/// `issuers` are the tasks that caused the events, if they are known. `calls` are all calls that
/// were made.
pub(super) fn moment(
    neighbours: &Neighbours,
    pieces: &[PieceName],
    epoch: Epoch,
    (first, events): (u64, &[Event]),
    issuers: &[Option<String>],
    calls: Vec<PlacedCall>,
    describe_sector: DescribeSector<'_>,
) -> CrashMoment {
    let before =
        usize::try_from(neighbours.instant() - first).expect("as many as there are events");
    // Marks do not count as events.
    let counted = |event: &&Event| !matches!(event, Event::Mark { .. });
    let until = events.iter().scan(0, |count, event| {
        *count += usize::from(counted(&event));
        (*count <= before).then_some(event)
    });
    let issuers = issuers.iter().cloned().chain(std::iter::repeat(None));
    let happened = until
        .zip(issuers)
        .map(|(event, by)| EventSummary { by, ..summarise(event, describe_sector) })
        .collect();
    let later = events.iter().filter(counted).count() - before;
    let mut crash = neighbours.instant();
    while crash > first && !neighbours.is_possible(epoch, crash) {
        crash -= 1;
    }
    CrashMoment {
        place: neighbours.place,
        calls: until_crash(calls, crash),
        first,
        crash,
        events: happened,
        later: later as u64,
        ranges: ranges(neighbours, pieces, epoch, describe_sector),
    }
}

/// Returns the calls that began before the crash at this instant. A call that the crash interrupted
/// has no end.
fn until_crash(mut calls: Vec<PlacedCall>, instant: u64) -> Vec<PlacedCall> {
    calls.retain(|call| call.from < instant || call.to.is_some_and(|to| to <= instant));
    for call in &mut calls {
        call.to = call.to.filter(|to| *to <= instant);
    }
    calls
}

fn ranges(
    neighbours: &Neighbours,
    pieces: &[PieceName],
    epoch: Epoch,
    describe_sector: DescribeSector<'_>,
) -> Vec<PendingRange> {
    let mut pending = Vec::new();
    for range in neighbours.ranges() {
        let possible =
            range.versions.iter().filter(|version| neighbours.is_possible(epoch, version.since));
        let (versions, since): (Vec<(u32, u64)>, Vec<u64>) =
            possible.map(|version| ((version.number, version.serial), version.since)).unzip();
        let first = range.first_sector();
        let kept = versions.iter().map(|version| version.0);
        let kept = kept.into_iter().find(|number| pieces.contains(&(range.dev, first, *number)));
        let sectors =
            range.sectors.iter().map(|part| (part.start, part.end - part.start)).collect();
        if !versions.is_empty() {
            pending.push(PendingRange {
                dev: range.dev,
                sectors,
                owner: describe_sector(range.dev, first),
                versions,
                since,
                kept,
            });
        }
    }
    pending
}
