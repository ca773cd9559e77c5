//! Replicated systems under explode: several hosts, each with a disk, a clock and a node, and the
//! network between them. A walk makes one choice after another: which message arrives, which timer
//! fires, what a client calls, which fault happens. A crash cuts the running handler of a node at
//! any moment and leaves one legal disk; the node then opens on that disk.
//!
//! ```
//! use explode_cluster::prelude::*;
//!
//! /// Counts the greetings of its peers.
//! struct Greeter { heard: u32 }
//!
//! impl Node for Greeter {
//!     type Msg = ();
//!     type Call = ();
//!     type Reply = ();
//!
//!     fn open(host: &mut Host<'_, Greeter>) -> Handled<Greeter> {
//!         host.broadcast(&())?;
//!         Ok(Greeter { heard: 0 })
//!     }
//!
//!     fn on_message(&mut self, _: NodeId, (): (), _: &mut Host<'_, Greeter>) -> Handled {
//!         self.heard += 1;
//!         Ok(())
//!     }
//! }
//!
//! let summary = cluster::<Greeter>("greeters", 3)
//!     .always("no more greetings than peers", |world| world.up().all(|node| node.heard <= 2))
//!     .sometimes("all greeted", |world| world.up().filter(|node| node.heard == 2).count() == 3)
//!     .run(walks(100));
//! assert!(summary.findings.is_zero());
//! ```
//!
//! `docs/start/your-cluster.md` writes a replicated store; `docs/model/cluster.md` describes the
//! world and its limits.
//!
//! # Rooms, bottom first
//!
//! - [`ask`]: the choices of a walk, as numbers or with texts
//! - [`fault`]: kinds of faults, and how many may happen
//! - [`clock`]: time, and which timers and messages may be due
//! - [`disk`]: the disk of a host, and the moments at which a handler can be cut
//! - [`node`]: what a user writes: a state machine, and what it may do on its host
//! - [`network`]: messages under way, and partitions
//! - [`client`]: calls, histories, linearizability
//! - `fresh`: threads of their own for walks
//! - [`view`]: what a property sees
//! - [`setup`]: everything that makes a cluster besides the choices
//! - [`world`]: the state of all hosts, and a step
//! - [`system`]: a cluster as a system of the engine
//! - [`cluster`]: a cluster as a user writes it, in a test or as a target
//! - [`by_hand`]: loops without the engine that do the work of a target's walks
//! - `walks`: walks made in this thread
//! - [`first`]: the first finding of a search
//! - `net`: TCP and UDP sockets of such hosts (feature `sockets`)
//! - `tasks`: hosts whose nodes are tasks of tokio (feature `async`)
//! - `open_raft`: the runtime of openraft on such hosts (feature `openraft`)
//! - [`paxos`]: Paxos with seeded bugs, and its targets
//! - `raft`: a replicated map on the crate `raft`, and its targets (feature `raft`)
//! - [`rates`]: how fast walks are
//! - `targets`: the targets on clusters
//! - [`prelude`]: the names that a cluster needs

pub mod ask;
pub mod by_hand;
pub mod client;
pub mod clock;
pub mod cluster;
pub mod disk;
pub mod fault;
pub mod first;
mod fresh;
#[cfg(feature = "sockets")]
pub mod net;
pub mod network;
pub mod node;
#[cfg(feature = "openraft")]
mod open_raft;
pub mod paxos;
pub mod prelude;
#[cfg(feature = "raft")]
pub mod raft;
pub mod rates;
pub mod setup;
pub mod system;
mod targets;
#[cfg(feature = "async")]
pub mod tasks;
pub mod view;
mod walks;
pub mod world;

#[cfg(feature = "openraft")]
pub use open_raft::OpenRaft;
pub use targets::register;
