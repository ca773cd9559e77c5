//! A replicated map on the crate `raft` of TiKV, with a log of its own on the files of its host.
//!
//! `tests/cases` has other versions of the crate. They build these files, and have a `ready` of
//! their own where it differs.

mod by_hand;
mod entry;
mod log;
mod map;
mod node;
mod ready;

use explode_runtime::plan::Registry;

use crate::by_hand::HandLoops;

pub use by_hand::raft_by_hand;
pub use map::raft_map;
pub use node::{ALWAYS_SYNCED, ENTRIES_UNSYNCED, NOTHING_UNSYNCED, RaftMap, VOTES_UNSYNCED};

/// Adds the targets on raft.
pub fn register(registry: &mut Registry) {
    HandLoops::register(registry, "raft", raft_by_hand);
    raft_map::<NOTHING_UNSYNCED>("raft")
        .about("raft 0.7.0 with a log on the files of each of 3 hosts")
        .register(registry);
    raft_map::<VOTES_UNSYNCED>("raft+votes-unsynced")
        .about("raft 0.7.0, and a vote is not on the disk before it is sent")
        .seeded("check-failed")
        .register(registry);
    raft_map::<ENTRIES_UNSYNCED>("raft+entries-unsynced")
        .about("raft 0.7.0, and entries are not on the disk before they are acknowledged")
        .seeded("check-failed")
        .register(registry);
}
