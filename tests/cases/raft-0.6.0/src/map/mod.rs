//! The files of explode-cluster that make the map.

#[path = "../../../../../cluster/src/raft/entry.rs"]
mod entry;
#[path = "../../../../../cluster/src/raft/log.rs"]
mod log;
#[path = "../../../../../cluster/src/raft/map.rs"]
mod map;
#[path = "../../../../../cluster/src/raft/node.rs"]
mod node;
#[path = "../../../../../cluster/src/raft/ready.rs"]
mod ready;

pub use map::raft_map;
pub use node::{ALWAYS_SYNCED, NOTHING_UNSYNCED};
