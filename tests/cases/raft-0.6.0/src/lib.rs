//! The replicated map of explode-cluster, built with raft 0.6.0.

use explode_cluster::{client, clock, cluster, fault, node};

#[path = "../../../../cluster/src/raft/mod.rs"]
pub mod map;
