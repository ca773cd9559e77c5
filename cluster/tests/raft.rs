//! Raft of TiKV on hosts with disks.
#![cfg(feature = "raft")]

use explode_cluster::prelude::*;
use explode_cluster::raft::{ENTRIES_UNSYNCED, NOTHING_UNSYNCED, VOTES_UNSYNCED, raft_map};

#[test]
fn raft_is_clean() {
    let summary = raft_map::<NOTHING_UNSYNCED>("raft").run(walks(500));
    panic!("{summary:#?}");
}

#[test]
fn votes() {
    raft_map::<VOTES_UNSYNCED>("raft+votes").run(walks(2000));
}
#[test]
fn entries() {
    raft_map::<ENTRIES_UNSYNCED>("raft+entries").run(walks(2000));
}
