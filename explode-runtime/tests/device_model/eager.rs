//! The worlds of PREFLUSH in the obvious way: whenever a flush could end, the state is forked, and
//! all states go on.
//!
//! `crash` derives the worlds of an instant from one state, by ending flushes then and there
//! (section 3, "PREFLUSH"). Here a flush ends when it ends, and everything that follows happens to
//! a state in which it has. Both must leave the same disks.

use std::collections::BTreeSet;

use explode_ramdisk::Event;

use super::machine::Machine;
use super::{Disks, epochs, events};

/// The disks of an interval that begins in `machine`'s state after `before`; `None` if there are
/// more than `most` states.
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

/// The event happens to each state, and then some of the flushes that can end do so.
fn step(states: &BTreeSet<Machine>, event: &Event, most: usize) -> Option<BTreeSet<Machine>> {
    let mut next = BTreeSet::new();
    for state in states {
        // A PREFLUSH write that fails applies no flush: the worlds in which its flush had ended are
        // no more.
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

/// A state knows which flushes have ended, so it is one world: those that wait have not.
fn disks_of_one_state(state: &Machine) -> BTreeSet<super::Disk> {
    state.disks_of_this_world(&BTreeSet::new())
}
