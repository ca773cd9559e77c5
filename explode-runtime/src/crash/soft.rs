//! Soft crashes: the program ends, the machine does not, so nothing that was done before is lost
//! (EX-80, EX-81).
//!
//! An interval is a sequence of operations, which the log tells apart by marks ([`operation_of`]).
//! A soft crash after one of them leaves exactly one disk: the newest version of everything is
//! there, and nothing is pending.

use explode_ramdisk::{Event, operation_of};

use super::emission::Emission;
use super::epoch::Epochs;
use super::instants::Instants;
use crate::writeset::{LogContradiction, WriteSet};

/// Applies the events to the write set, and visits the write set of the machine that goes on, after
/// each operation or only at the end; and says whether it is the last one.
///
/// # Errors
/// As [`walk`](super::walk).
pub(super) fn each_disk(
    write_set: &mut WriteSet,
    events: &[Event],
    when: Instants,
    visit: &mut dyn FnMut(&WriteSet, bool),
) -> Result<(), LogContradiction> {
    let mut left = events.iter().filter(|event| operation_of(event).is_some()).count();
    for (index, event) in events.iter().enumerate() {
        write_set.apply(event).map_err(|error| LogContradiction { index, error })?;
        if when == Instants::Prefixes && operation_of(event).is_some() {
            left -= 1;
            visit(&settled(write_set), left == 0);
        }
    }
    if when == Instants::Soft {
        visit(&settled(write_set), true);
    }
    Ok(())
}

/// The newest version of everything, with nothing pending.
fn settled(write_set: &WriteSet) -> WriteSet {
    let mut image = None;
    Emission::of(write_set).last(&|_| Epochs::soft(true), &mut |disk| image = Some(disk.image()));
    write_set.settled(image.expect("an emission has a last disk"))
}
