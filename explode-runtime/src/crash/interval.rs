//! An interval of the log: the instants whose disks are visited, and the epochs of these disks.

use explode_ramdisk::Event;
use num_bigint::BigUint;

use super::emission::{CrashDisk, Emission};
use super::epoch::{Epoch, Epochs};
use super::instants::Instants;
use super::sample::SampleLimits;
use super::soft;
use crate::writeset::{LogContradiction, WriteSet};

/// The counts of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalCounts {
    /// The number of crash disks, summed over the emissions of the interval.
    pub crash_disks: BigUint,
    /// The number of those disks that no sample contains.
    pub left_out: BigUint,
}

/// Applies the events to the write set and visits the crash disks of the interval.
///
/// # Errors
/// Returns an error for an event that contradicts the log before it. The write set has then taken
/// the events before that one.
pub fn walk(
    write_set: &mut WriteSet,
    events: &[Event],
    when: Instants,
    limits: &SampleLimits,
    mut visit: impl FnMut(&CrashDisk<'_>),
) -> Result<IntervalCounts, LogContradiction> {
    let mut counts = IntervalCounts::default();
    let mut emissions = 0;
    each_moment(write_set, events, when, &mut |InstantView { emission, times, counted }| {
        let count = emission.count();
        let since = |since: u64| times.epochs(since);
        if !counted {
            if limits.all(&count) {
                emission.each(&since, &mut visit);
            }
            return;
        }
        match limits.sample(emissions, &emission) {
            None => emission.each(&since, &mut visit),
            Some(numbers) => {
                counts.left_out += &count - numbers.len();
                emission.some(&numbers, &since, &mut visit);
            }
        }
        counts.crash_disks += count;
        emissions += 1;
    })?;
    Ok(counts)
}

/// A view of the disks of one instant.
pub(super) struct InstantView {
    pub emission: Emission,
    pub times: InstantEpochs,
    /// False for an earlier state whose disks are all in the emission that was visited just before,
    /// so that they are not counted again.
    pub counted: bool,
}

/// The epochs in which the disks of a moment are possible. A moment is a range of instants.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstantEpochs {
    when: Instants,
    /// The first and the last instant of the moment.
    from: u64,
    pub at: u64,
    /// The first and the last instant of the interval.
    first: u64,
    last: u64,
    /// True if no operation ends in the interval after this moment.
    is_end: bool,
}

impl InstantEpochs {
    /// Returns the epochs of a disk that has been possible since an instant.
    pub fn epochs(&self, since: u64) -> Epochs {
        match self.when {
            Instants::Now => Epochs::only_if(Epoch::Now, true),
            Instants::Soft | Instants::Prefixes => Epochs::soft(self.is_end),
            Instants::Interval => epochs(self.from.max(since), self.at, self.first, self.last),
        }
    }
}

/// Applies the events to the write set and visits each moment of the interval. Equal events give
/// equal moments.
pub(super) fn each_moment(
    write_set: &mut WriteSet,
    events: &[Event],
    when: Instants,
    visit: &mut dyn FnMut(InstantView),
) -> Result<(), LogContradiction> {
    let first = write_set.instant();
    let last =
        first + events.iter().filter(|event| !matches!(event, Event::Mark { .. })).count() as u64;
    if matches!(when, Instants::Soft | Instants::Prefixes) {
        return soft::each_disk(write_set, events, when, &mut |settled, is_end| {
            let at = settled.instant();
            let times = InstantEpochs { when, from: at, at, first, last, is_end };
            visit(InstantView { emission: Emission::of(settled), times, counted: true });
        });
    }
    let mut from = first;
    // Earlier states whose disks are all in the next emission, and are visited just after it. They
    // show the epochs in which those disks were possible.
    let mut noted: Vec<WriteSet> = Vec::new();
    let mut emit = |write_set: &WriteSet, from: u64, noted: &mut Vec<WriteSet>| {
        let mut look = |seen: &WriteSet, counted: bool| {
            let times = InstantEpochs { when, from, at: seen.instant(), first, last, is_end: true };
            visit(InstantView { emission: Emission::of(seen), times, counted });
        };
        look(write_set, true);
        for mut earlier in noted.drain(..) {
            earlier.hide_replaced(write_set);
            look(&earlier, false);
        }
    };
    for (index, event) in events.iter().enumerate() {
        let shrinks = when == Instants::Interval && write_set.shrinks(event);
        if shrinks {
            emit(write_set, from, &mut noted);
        } else if when == Instants::Interval && write_set.merges(event) {
            noted.push(write_set.clone());
        }
        write_set.apply(event).map_err(|error| LogContradiction { index, error })?;
        if shrinks {
            from = write_set.instant();
        }
    }
    emit(write_set, from, &mut noted);
    Ok(())
}

/// Returns the epochs of a disk that is possible at the instants `from ..= to` of the interval
/// `first ..= last`.
fn epochs(from: u64, to: u64, first: u64, last: u64) -> Epochs {
    let inner = from.max(first + 1) <= to.min(last.wrapping_sub(1)) && first < last;
    Epochs::only_if(Epoch::Begin, from <= first)
        | Epochs::only_if(Epoch::InBetween, inner)
        | Epochs::only_if(Epoch::End, to >= last)
}
