//! The names that a cluster needs.

pub use explode_ramdisk::files::{Fd, Files, OpenFlags};
pub use explode_runtime::choose::{BarePoint, WalkAnswers};
pub use itertools::Itertools;

pub use crate::client::{
    CallHistory, MapCall, MapReply, MapSpec, NextCall, QueueCall, QueueReply, QueueSpec,
    RegisterCall, RegisterReply, RegisterSpec, SequentialSpec,
};
pub use crate::clock::{Time, Timing, ms};
pub use crate::cluster::{Cluster, OneValue, budget, cluster, exhausted, walks};
pub use crate::fault::{FaultBudget, FaultKind};
pub use crate::network::Network;
pub use crate::node::{CallId, Full, Handled, Host, Node, NodeId, Timer};
pub use crate::setup::FactMonitor;
#[cfg(feature = "async")]
pub use crate::tasks::{AsyncHost, AsyncNode, LinkBroken, Tasks, async_cluster};
pub use crate::view::{NodeView, View};
