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
);

/// The number of walks of each search.
const WALKS: u32 = 100;
/// The name of the walks that have tested anything.
const ACKNOWLEDGED: &str = "a write was acknowledged";

/// Seven hosts. Up to 16 messages of a walk are lost, about 4 of 100. Latencies are drawn.
fn seven(seed: u64) -> Cluster<Tasks<Server>> {
    let latencies = [1, 2, 5, 10, 20, 50, 100].map(ms).to_vec();
    async_cluster::<Server>("openraft", 7)
        .timing(Timing::Ordered { latencies })
        .faults(FaultBudget { drops: 16, ..FaultBudget::NONE })
        .clients(2, |next| next.fresh())
        .calls(40)
        .steps(800, 0)
        .seed(seed)
        .always("an acknowledged write is on a quorum", |world| {
            let on = |value| world.up().filter(|node| has(node.get(), value)).count();
            let calls = world.history().calls().iter();
            calls.filter(|call| call.replied.is_some()).all(|call| on(call.call) >= 4)
        })
        .sometimes(ACKNOWLEDGED, |world| {
            world.history().calls().iter().any(|call| call.replied.is_some())
        })
}

fn has(node: &Tasks<Server>, value: u64) -> bool {
    node.node().is_some_and(|server| server.log.has(value))
}

/// Asserts that a search with each seed finds an acknowledged write without a quorum.
#[allow(dead_code, reason = "a case calls it or the other one")]
pub fn found(name: &str) {
    search::found(name, WALKS, "acknowledged", seven);
}

/// Asserts that no search finds anything.
#[allow(dead_code, reason = "a case calls it or the other one")]
pub fn clean(name: &str) {
    search::clean(name, WALKS, (ACKNOWLEDGED, WALKS * 9 / 10), seven);
}
