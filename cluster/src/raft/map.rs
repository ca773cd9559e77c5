//! The replicated map as a cluster: hosts, faults, clients, and promises.

use super::node::RaftMap;
use super::ready::VERSION;
use crate::client::{MapCall, MapSpec};
use crate::cluster::{Cluster, OneValue, cluster};
use crate::fault::{FaultBudget, FaultKind};

/// The number of hosts.
pub(super) const HOSTS: usize = 3;
/// The number of clients.
pub(super) const CLIENTS: usize = 2;
/// The number of calls of each client.
pub(super) const CALLS: u32 = 8;
/// The number of steps of a walk.
pub(super) const STEPS: u32 = 150;
/// The number of steps at the end of a walk that are fair and have no faults.
pub(super) const TAIL: u32 = 30;
/// The faults of a walk.
pub(super) const FAULTS: FaultBudget =
    FaultBudget { crashes: 3, drops: 4, duplicates: 2, partitions: 1, ..FaultBudget::NONE };

/// Returns the cluster of three hosts. `BUG` says what is not synced.
pub fn raft_map<const BUG: u8>(name: &str) -> Cluster<RaftMap<BUG>> {
    let one = |fact: &'static str| move || OneValue::of(fact, 1);
    cluster::<RaftMap<BUG>>(name, HOSTS)
        .version("raft", VERSION)
        .faults(FAULTS)
        .steps(STEPS, TAIL)
        .default_walks(4_000)
        .calls(CALLS)
        .clients(CLIENTS, |next| match next.choose(3) {
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
