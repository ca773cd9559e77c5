//! Paxos for one value, with the two bugs that CrystalBall (Yabandeh, Knezevic, Kostic, Kuncak:
//! *CrystalBall: Predicting and Preventing Inconsistencies in Deployed Distributed Systems*, NSDI
//! 2009) was tested with: a leader that takes the value of the last promise, and an acceptor whose
//! promise is not on its disk. The second is a bug of the write set: only a crash disk shows it.

mod node;

use explode_runtime::plan::Registry;

use crate::cluster::{Cluster, OneValue, cluster};
use crate::fault::{FaultBudget, FaultKind};

pub use node::{CORRECT, LAST_PROMISE, Paxos, UNSYNCED_PROMISE};

/// Returns the cluster of three hosts. `BUG` says what is wrong.
pub fn paxos<const BUG: u8>(name: &str) -> Cluster<Paxos<BUG>> {
    cluster::<Paxos<BUG>>(name, 3)
        .faults(FaultBudget { crashes: 4, drops: 2, partitions: 1, ..FaultBudget::NONE })
        .clients(2, |next| next.client() as u64 + 1)
        .calls(3)
        .steps(120, 40)
        .monitor("one value is chosen", || OneValue::of("chosen", 0))
        .sometimes("a value is chosen", |world| world.up().any(|node| node.chosen().is_some()))
        .sometimes("an acceptor crashed after its promise", |world| {
            world.did(FaultKind::Crash) && world.crashed().is_some_and(|node| node.has_promised())
        })
        .hashed()
}

/// Adds the targets of Paxos.
pub fn register(registry: &mut Registry) {
    paxos::<CORRECT>("paxos").about("Paxos for one value on 3 hosts").register(registry);
    paxos::<LAST_PROMISE>("paxos+last-promise")
        .about("Paxos, and a leader takes the value of the last promise")
        .seeded("check-failed")
        .register(registry);
    paxos::<UNSYNCED_PROMISE>("paxos+unsynced-promise")
        .about("Paxos, and a promise is not on the disk before it is sent")
        .seeded("check-failed")
        .register(registry);
}
