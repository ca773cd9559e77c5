//! An interval of the log: which instants to look at, and in which epochs their disks are.

use explode_ramdisk::Event;
use num_bigint::BigUint;

use super::emission::{CrashDisk, Emission};
use super::epoch::{Epoch, Epochs};
use super::sample::Limits;
use super::soft;
use crate::events::EventError;
use crate::writeset::WriteSet;

/// Which instants an interval asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// One instant, the last (`check_crashes_now`; EX-61).
    Now,
    /// The same instant, of a soft crash.
    Soft,
    /// The end of each operation of the interval, each of a soft crash (EX-80).
    Prefixes,
    /// All instants from the first to the last (`check_crashes_start` to `check_crashes_end`; EX-62).
    Between,
}

/// What an interval amounts to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The sum over its emissions.
    pub crash_disks: BigUint,
    /// How many of them no sample met.
    pub left_out: BigUint,
}

/// Applies the events to the write set and visits the crash disks on the way.
///
/// # Errors
/// An event that contradicts the log before it; the write set has then taken the events before that one.
pub fn walk(
    write_set: &mut WriteSet,
    events: &[Event],
    when: When,
    limits: &Limits,
    mut visit: impl FnMut(&CrashDisk<'_>),
) -> Result<Counts, EventError> {
    if matches!(when, When::Soft | When::Prefixes) {
        return soft::walk(write_set, events, when, &mut visit);
    }
    let first = write_set.instant();
    let last = first + events.iter().filter(|event| !matches!(event, Event::Mark { .. })).count() as u64;
    let epochs = |since: u64, at: u64| match when {
        When::Now => Epochs::only_if(Epoch::Now, true),
        _ => epochs(since, at, first, last),
    };
    let mut counts = Counts::default();
    let mut emissions = 0;
    let mut from = first;
    // Earlier states whose disks the next emission has too: they tell in which epochs it has had them.
    let mut noted: Vec<WriteSet> = Vec::new();
    let mut emit = |write_set: &WriteSet, from: u64, noted: &mut Vec<WriteSet>| {
        let at = write_set.instant();
        let emission = Emission::of(write_set);
        let count = emission.count();
        let since = |since: u64| epochs(from.max(since), at);
        match limits.sample(emissions, &count) {
            None => emission.each(&since, &mut visit),
            Some(numbers) => {
                counts.left_out += &count - numbers.len();
                emission.some(&numbers, &since, &mut visit);
            }
        }
        counts.crash_disks += count;
        emissions += 1;
        for mut earlier in noted.drain(..) {
            earlier.hide_what_is_gone(write_set);
            let emission = Emission::of(&earlier);
            if limits.all(&emission.count()) {
                emission.each(&|since| epochs(from.max(since), earlier.instant()), &mut visit);
            }
        }
    };
    for (index, event) in events.iter().enumerate() {
        let shrinks = when == When::Between && write_set.shrinks(event);
        if shrinks {
            emit(write_set, from, &mut noted);
        } else if when == When::Between && write_set.merges(event) {
            noted.push(write_set.clone());
        }
        write_set.apply(event).map_err(|error| EventError { index, error })?;
        if shrinks {
            from = write_set.instant();
        }
    }
    emit(write_set, from, &mut noted);
    Ok(counts)
}

/// The epochs of a disk that is possible at the instants `from ..= to` of the interval `first ..= last`.
fn epochs(from: u64, to: u64, first: u64, last: u64) -> Epochs {
    let inner = from.max(first + 1) <= to.min(last.wrapping_sub(1)) && first < last;
    Epochs::only_if(Epoch::Begin, from <= first)
        | Epochs::only_if(Epoch::InBetween, inner)
        | Epochs::only_if(Epoch::End, to >= last)
}
