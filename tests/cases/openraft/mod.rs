//! openraft as published, on seven hosts with disks: is each acknowledged write on four of them.
//!
//! | file | contents |
//! | --- | --- |
//! | `log.rs` | the log of a node, one file of records |
//! | `machine.rs` | a state machine that only counts |
//! | `network.rs` | the network of openraft on that of the hosts |
//! | `server.rs` | a node |

mod log;
mod machine;
mod network;
#[path = "../shared/search.rs"]
mod search;
mod server;

use std::io::Cursor;

use explode_cluster::cluster::Cluster;
use explode_cluster::prelude::*;

use server::Server;

openraft::declare_raft_types!(
    /// The types of a node.
    pub Types: D = u64, R = (), Node = openraft::EmptyNode,
    // The order of the tasks of a host is a choice.
    AsyncRuntime = explode_cluster::OpenRaft,
);

/// The number of walks of each search.
const WALKS: u32 = 100;
/// The number of walks of each search with three hosts.
const THREE_WALKS: u32 = 400;
/// The name of the walks that have tested anything.
const ACKNOWLEDGED: &str = "a write was acknowledged";

/// The promise of all clusters.
const KEPT: &str = "an acknowledged write is on a quorum";

/// A cluster of servers with two clients. A write that is acknowledged may be missing on a minority
/// of the hosts. Those that are down or open are not asked.
fn servers<const SYNCS_VOTES: bool>(
    hosts: usize,
    seed: u64,
) -> Cluster<Tasks<Server<SYNCS_VOTES>>> {
    let latencies = [1, 2, 5, 10, 20, 50, 100].map(ms).to_vec();
    async_cluster::<Server<SYNCS_VOTES>>("openraft", hosts)
        .timing(Timing::Ordered { latencies })
        .clients(2, |next| next.fresh())
        .calls(40)
        .seed(seed)
        .always(KEPT, move |world| {
            let open = || world.up().filter_map(|node| node.get().node());
            let without = |value| open().filter(|server| !server.log.has(value)).count();
            let calls = world.history().calls().iter();
            calls.filter(|call| call.replied.is_some()).all(|call| without(call.call) <= hosts / 2)
        })
        .sometimes(ACKNOWLEDGED, |world| {
            world.history().calls().iter().any(|call| call.replied.is_some())
        })
}

/// Seven hosts. Up to 16 messages of a walk are lost, about 4 of 100. Latencies are drawn.
fn seven(seed: u64) -> Cluster<Tasks<Server<true>>> {
    let drops = FaultBudget { drops: 16, ..FaultBudget::NONE };
    servers(7, seed).faults(drops).steps(800, 0)
}

/// The same, and up to four crashes.
fn seven_that_crash(seed: u64) -> Cluster<Tasks<Server<true>>> {
    let faults = FaultBudget { crashes: 4, drops: 16, ..FaultBudget::NONE };
    servers(7, seed).faults(faults).steps(800, 0)
}

/// Three hosts with up to six crashes. Messages are later than leaders may be silent, so that there
/// are many elections.
fn three_that_crash<const SYNCS_VOTES: bool>(seed: u64) -> Cluster<Tasks<Server<SYNCS_VOTES>>> {
    let latencies = [1, 10, 50, 100, 200, 400].map(ms).to_vec();
    let faults = FaultBudget { crashes: 6, drops: 4, ..FaultBudget::NONE };
    servers(3, seed).timing(Timing::Ordered { latencies }).faults(faults).steps(300, 0)
}

/// Asserts that a search with each seed finds an acknowledged write without a quorum.
#[allow(dead_code, reason = "a case calls it or the other ones")]
pub fn found(name: &str) {
    search::found(name, WALKS, "acknowledged", seven);
    search::found(&format!("{name}, with crashes"), WALKS, "acknowledged", seven_that_crash);
}

/// Asserts that no search finds anything.
#[allow(dead_code, reason = "a case calls it or the other ones")]
pub fn clean(name: &str) {
    let acknowledged = (ACKNOWLEDGED, WALKS * 9 / 10);
    search::clean(name, WALKS, acknowledged, seven);
    search::clean(&format!("{name}, with crashes"), WALKS, acknowledged, seven_that_crash);
    let name = format!("{name}, three hosts with crashes");
    search::clean(&name, THREE_WALKS, (ACKNOWLEDGED, THREE_WALKS / 2), three_that_crash::<true>);
}

/// Asserts that a search with each seed finds that votes are not synced: openraft has assertions
/// that a host breaks which has forgotten its vote.
#[allow(dead_code, reason = "a case calls it or the other ones")]
pub fn votes_found(name: &str) {
    search::found(name, THREE_WALKS, "panic", three_that_crash::<false>);
}
