//! Hosts whose nodes are tasks of tokio (feature `async`): a runtime for each host, as published,
//! and a world that decides what happens next.
//!
//! An event of the world is given to the host, whose runtime then runs until all its tasks wait.
//! The messages that they have sent and the next deadline of their timers go to the world. A crash
//! drops the runtime.
//!
//! | file | contents |
//! | --- | --- |
//! | `wire.rs` | messages, requests and their answers |
//! | `host.rs` | a node of tasks, and what tasks may do on their host |
//! | `runtime.rs` | the runtime of a host, run until its tasks wait |
//! | `node.rs` | tasks as a node of the world |
//!
//! ```
//! use std::rc::Rc;
//!
//! use explode_cluster::prelude::*;
//!
//! /// Asks its peers for their names.
//! struct Names { host: AsyncHost<Names> }
//!
//! impl AsyncNode for Names {
//!     type Msg = String;
//!     type Call = ();
//!     type Reply = usize;
//!
//!     async fn open(host: AsyncHost<Names>) -> Handled<Names> {
//!         Ok(Names { host })
//!     }
//!
//!     async fn on_request(self: Rc<Names>, from: NodeId, _: String) -> Handled<String> {
//!         Ok(format!("{} greets {from}", self.host.id()))
//!     }
//!
//!     async fn on_call(self: Rc<Names>, call: CallId, (): ()) -> Handled {
//!         let mut heard = 0;
//!         for peer in self.host.peers() {
//!             let answer = self.host.request(peer, "who".to_owned());
//!             heard += usize::from(tokio::time::timeout(ms(500), answer).await.is_ok());
//!         }
//!         self.host.reply(call, heard);
//!         Ok(())
//!     }
//! }
//!
//! let summary = async_cluster::<Names>("names", 3)
//!     .clients(1, |_| ())
//!     .steps(60, 0)
//!     .sometimes("all answered", |world| {
//!         let mut replies = world.history().calls().iter().filter_map(|call| call.replied);
//!         replies.any(|(_, heard)| heard == 2)
//!     })
//!     .run(walks(20));
//! assert!(summary.findings.is_zero());
//! ```

mod chosen;
mod host;
mod node;
mod runtime;
mod wire;

pub use chosen::{JoinHandle, TaskPanicked, spawn};
pub use host::{AsyncHost, AsyncNode, LinkBroken};
pub use node::{Tasks, async_cluster};
pub use wire::Wire;
