//! The situations that random logs met. A generator that never makes the important ones tests
//! nothing ("sometimes" assertions).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use explode_ramdisk::{Event, Payload};

use super::case::Case;
use super::events;
use super::machine::Machine;

/// The number of times that each situation was met.
#[derive(Debug, Default)]
pub struct Seen {
    counts: BTreeMap<&'static str, u64>,
}

/// The number of logs that must meet everything. Fewer logs (PROPTEST_CASES) need not.
const ENOUGH: u64 = 256;
/// Every kind of event.
const KINDS: [&str; 16] = [
    "dirty",
    "clean",
    "lock",
    "unlock",
    "submit",
    "submit fua",
    "submit preflush",
    "submit preflush fua",
    "submit zeroes",
    "submit discard",
    "empty preflush",
    "complete",
    "complete with error",
    "flush",
    "mark",
    "id used again",
];
const WORLDS: &str = "several worlds";
const ONLY_ENDED: &str = "disk only if a flush has ended";
/// Not required under rule `durable`, where a flush only lets the write start.
const ONLY_NOT_ENDED: &str = "disk only if a flush has not ended";
const SUPERSEDED: &str = "completion of a superseded piece";
/// Not required under `replace_versions`.
const VERSIONS: &str = "two versions of one range";
/// Required only under `replace_versions`.
const REPLACED: &str = "replaced version";

impl Seen {
    pub fn add(&mut self, what: &'static str, count: usize) {
        *self.counts.entry(what).or_default() += count as u64;
    }

    /// Counts the events of a case, and the situations in its interval.
    pub fn look_at(&mut self, case: &Case) {
        self.add("logs", 1);
        let mut ids = BTreeSet::new();
        for event in &case.log {
            self.add(kind(event), 1);
            if let Event::Submit { id, .. } | Event::Flush { id, .. } = event {
                self.add("id used again", usize::from(!ids.insert(id)));
            }
        }
        let instants = case.instants();
        for (state, event) in instants.iter().zip(events(&case.log, case.interval)) {
            self.add(SUPERSEDED, usize::from(is_superseded(state, event)));
        }
        for state in &instants {
            self.look_at_state(state);
        }
    }

    fn look_at_state(&mut self, state: &Machine) {
        self.add("instants", 1);
        self.add(REPLACED, usize::from(state.pieces.values().any(|piece| piece.replaced)));
        self.add(VERSIONS, usize::from(state.versions().values().any(|versions| *versions > 1)));
        let waiting = state.waiting();
        if waiting.is_empty() {
            return;
        }
        self.add(WORLDS, 1);
        let not_ended = state.disks_of_this_world(&BTreeSet::new());
        let ended = state.world(&waiting).disks_of_this_world(&BTreeSet::new());
        self.add(ONLY_NOT_ENDED, usize::from(!not_ended.is_subset(&ended)));
        self.add(ONLY_ENDED, usize::from(!ended.is_subset(&not_ended)));
    }

    /// Panics if enough logs under these rules never met a situation that they can meet.
    pub fn require_all(&self, durable: bool, replace_versions: bool) {
        if self.counts.get("logs").is_none_or(|logs| *logs < ENOUGH) {
            return;
        }
        let mut all = Vec::from(KINDS);
        all.extend([WORLDS, ONLY_ENDED, SUPERSEDED]);
        all.extend((!durable).then_some(ONLY_NOT_ENDED));
        all.push(if replace_versions { REPLACED } else { VERSIONS });
        let missing: Vec<_> = all
            .iter()
            .filter(|what| self.counts.get(**what).is_none_or(|count| *count == 0))
            .collect();
        assert!(missing.is_empty(), "the logs never met {missing:?}; met: {self}");
    }
}

/// Returns true if the event completes a write with a piece that no longer exists.
fn is_superseded(state: &Machine, event: &Event) -> bool {
    let Event::Complete { id, .. } = event else { return false };
    state.requests[id].pieces.iter().any(|piece| !state.pieces.contains_key(piece))
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Dirty { .. } => "dirty",
        Event::Clean { .. } => "clean",
        Event::Append { .. } => "append",
        Event::Lock { .. } => "lock",
        Event::Unlock { .. } => "unlock",
        Event::Submit { payload, flags, .. } if payload.is_empty() && flags.preflush => {
            "empty preflush"
        }
        Event::Submit { payload: Payload::Zeroes(_), .. } => "submit zeroes",
        Event::Submit { payload: Payload::Discard(_), .. } => "submit discard",
        Event::Submit { flags, .. } => match (flags.preflush, flags.fua) {
            (false, false) => "submit",
            (false, true) => "submit fua",
            (true, false) => "submit preflush",
            (true, true) => "submit preflush fua",
        },
        Event::Complete { error: false, .. } => "complete",
        Event::Complete { error: true, .. } => "complete with error",
        Event::Flush { .. } => "flush",
        Event::Mark { .. } => "mark",
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> =
            self.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        f.write_str(&counts.join(", "))
    }
}
