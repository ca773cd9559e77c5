//! A replicated map on the crate `raft` of TiKV, with a log of its own on the files of its host.

mod log;
mod node;

use explode_runtime::plan::Registry;

use crate::client::{MapCall, MapSpec};
use crate::cluster::{Cluster, OneValue, cluster};
use crate::fault::{FaultBudget, FaultKind};

pub use node::{ENTRIES_UNSYNCED, NOTHING_UNSYNCED, RaftMap, VOTES_UNSYNCED};

/// The version of the crate.
const VERSION: &str = "0.7.0";

/// Returns the cluster of three hosts. `BUG` says what is not synced.
pub fn raft_map<const BUG: u8>(name: &str) -> Cluster<RaftMap<BUG>> {
    let faults =
        FaultBudget { crashes: 3, drops: 4, duplicates: 2, partitions: 1, ..FaultBudget::NONE };
    let one = |fact: &'static str| move || OneValue::of(fact, 1);
    cluster::<RaftMap<BUG>>(name, 3)
        .version("raft", VERSION)
        .faults(faults)
        .steps(150, 30)
        .default_walks(4_000)
        .clients(2, |next| match next.choose(3) {
            0 => MapCall::Get(u64::from(next.choose(2))),
            1 => MapCall::Remove(u64::from(next.choose(2))),
            _ => MapCall::Put(u64::from(next.choose(2)), next.fresh()),
        })
        .monitor("one leader of a term", one("leader"))
        .monitor("one entry at an index", one("applied"))
        .linearizable::<MapSpec>()
        .sometimes("a leader crashed", |world| {
            world.did(FaultKind::Crash) && world.crashed().is_some_and(|node| node.is_leader())
        })
        .sometimes("two leaders", |world| world.up().filter(|node| node.is_leader()).count() > 1)
        .eventually("replicas agree", |world| {
            let mut up = world.up();
            let first = up.next();
            world.all_up() && up.all(|node| first.is_some_and(|first| first.map() == node.map()))
        })
}

/// Adds the targets on raft.
pub fn register(registry: &mut Registry) {
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
