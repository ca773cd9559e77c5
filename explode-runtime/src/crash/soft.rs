//! Soft crashes: the program ends, the machine does not, so nothing that was done before is lost (EX-80, EX-81).
//!
//! An interval is a sequence of operations, which the log tells apart by marks ([`operation_of`]). A soft crash after one of them
//! leaves exactly one disk: that of a crash at this instant which has kept the newest version of everything.

use explode_ramdisk::{Event, operation_of};

use super::emission::{CrashDisk, Emission};
use super::epoch::{Epoch, Epochs};
use super::interval::{Counts, When};
use crate::events::EventError;
use crate::writeset::WriteSet;

/// How many operations end in these events.
pub fn operations(events: &[Event]) -> u64 {
    events.iter().filter(|event| operation_of(event).is_some()).count() as u64
}

/// Applies the events to the write set, and visits the disk after each operation, or only the last one.
///
/// # Errors
/// As [`walk`](super::walk).
pub(super) fn walk(
    write_set: &mut WriteSet,
    events: &[Event],
    when: When,
    visit: &mut dyn FnMut(&CrashDisk<'_>),
) -> Result<Counts, EventError> {
    let mut counts = Counts::default();
    let mut emit = |write_set: &WriteSet| {
        let soft = |_| Epochs::only_if(Epoch::Soft, true);
        Emission::of(write_set).last(&soft, visit);
        counts.crash_disks += 1u32;
    };
    for (index, event) in events.iter().enumerate() {
        write_set.apply(event).map_err(|error| EventError { index, error })?;
        if when == When::Prefixes && operation_of(event).is_some() {
            emit(write_set);
        }
    }
    if when == When::Soft {
        emit(write_set);
    }
    Ok(counts)
}
