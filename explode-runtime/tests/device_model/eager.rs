//! The worlds of PREFLUSH in the direct way: whenever a flush can end, the state is forked, and all
//! states continue.
//!
//! `crash` derives the worlds of an instant from one state, by ending flushes at that instant
//! (section 3, "PREFLUSH"). Here a flush ends when it ends, and all later events happen to a state
//! in which it has ended. Both must leave the same disks.

use std::collections::BTreeSet;

use explode_ramdisk::Event;

use super::machine::Machine;
use super::{Disks, epochs, events};

/// Returns the disks of an interval of a log that begins in the state of `machine`; `None` if there
/// are more than `most` states.
pub fn disks(
    machine: Machine,
    log: &[Event],
    interval: (usize, usize),
    most: usize,
) -> Option<Disks> {
    let mut states = BTreeSet::from([machine]);
    for event in &log[..interval.0] {
        states = step(&states, event, most)?;
    }
    let interval: Vec<&Event> = events(log, interval).collect();
    let mut disks = Disks::new();
    for at in 0..=interval.len() {
        for disk in states.iter().flat_map(disks_of_one_state) {
            disks.entry(disk).or_default().extend(epochs(at, interval.len()));
        }
        if let Some(event) = interval.get(at) {
            states = step(&states, event, most)?;
        }
    }
    Some(disks)
}

/// Applies the event to each state, then ends any of the flushes that can end.
fn step(states: &BTreeSet<Machine>, event: &Event, most: usize) -> Option<BTreeSet<Machine>> {
    let mut next = BTreeSet::new();
    for state in states {
        // A PREFLUSH write that fails applies no flush, so the worlds in which its flush had ended
        // do not continue.
        if let Event::Complete { id, error: true } = event
            && state.requests[id].preflush
            && !state.requests[id].waits
        {
            continue;
        }
        let mut state = state.clone();
        state.apply(event);
        let subsets = state.worlds();
        next.extend(subsets.iter().map(|ended| state.world(ended)));
        if next.len() > most {
            return None;
        }
    }
    Some(next)
}

/// Returns the disks of a state. It is one world, because the flushes that wait have not ended.
fn disks_of_one_state(state: &Machine) -> BTreeSet<super::Disk> {
    state.disks_of_this_world(&BTreeSet::new())
}
