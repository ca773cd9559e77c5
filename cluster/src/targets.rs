//! The targets on clusters.

use explode_runtime::plan::{Family, Registry, TargetList};
#[cfg(not(feature = "raft"))]
use explode_runtime::stack::FeatureGated;

use crate::paxos;
#[cfg(feature = "raft")]
use crate::raft;

/// The targets whose systems are part of explode, each with the name of the target without its bug.
const OWN: [(&str, Option<&str>); 3] = [
    ("paxos", None),
    ("paxos+last-promise", Some("paxos")),
    ("paxos+unsynced-promise", Some("paxos")),
];
/// The targets on the crate `raft`.
#[cfg(feature = "raft")]
const RAFT: [(&str, Option<&str>); 3] = [
    ("raft", None),
    ("raft+votes-unsynced", Some("raft")),
    ("raft+entries-unsynced", Some("raft")),
];

/// Adds the targets on clusters.
pub fn register(registry: &mut Registry) {
    paxos::register(registry);
    #[cfg(feature = "raft")]
    raft::register(registry);
    #[cfg(not(feature = "raft"))]
    registry.components.absent.push(FeatureGated { name: "raft", feature: "engines" });
    registry.targets.add_tables(families);
}

/// Adds the headings of the targets, and the pairs of targets with and without a bug.
fn families(list: &mut TargetList) {
    #[cfg(feature = "raft")]
    add(list, "raft: a replicated map on hosts with disks", false, &RAFT);
    add(list, "paxos: three hosts with disks", false, &OWN);
}

fn add(
    list: &mut TargetList,
    name: &'static str,
    real: bool,
    targets: &[(&'static str, Option<&'static str>)],
) {
    let names = targets.iter().map(|(name, _)| (*name).into()).collect();
    list.families.push(Family { name: name.into(), real, targets: names });
    let twins = targets.iter().filter_map(|(name, twin)| Some(((*name).into(), (*twin)?.into())));
    list.twins.extend(twins);
}
