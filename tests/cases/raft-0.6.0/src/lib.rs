//! The replicated map of explode-cluster, built with raft 0.6.0.

use explode_cluster::{client, clock, cluster, fault, node};

pub mod map;
