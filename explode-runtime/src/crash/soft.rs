//! Soft crashes: the program ends but the machine does not, so no completed operation is lost
//! (EX-80, EX-81).
//!
//! An interval is a sequence of operations, which marks in the log separate ([`operation_of`]). A
//! soft crash after an operation leaves exactly one disk: it has the newest version of everything,
//! and nothing is pending.

use explode_ramdisk::{Event, operation_of};

use super::emission::Emission;
use super::epoch::Epochs;
use super::instants::Instants;
use crate::writeset::{LogContradiction, WriteSet};

/// Applies the events to the write set. Visits the settled write set after each operation, or only
/// at the end, with true for the last visit.
///
/// # Errors
/// Returns the errors of [`walk`](super::walk).
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

/// Returns the write set in which the newest version of everything is durable and nothing is
/// pending.
fn settled(write_set: &WriteSet) -> WriteSet {
    let mut image = None;
    Emission::of(write_set).last(&|_| Epochs::soft(true), &mut |disk| image = Some(disk.image()));
    write_set.settled(image.expect("an emission has a last disk"))
}
