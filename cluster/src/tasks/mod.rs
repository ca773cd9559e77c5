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
//! | `host.rs` | what tasks may do on their host |
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

mod host;
mod node;
mod runtime;
mod wire;

use std::fmt::Debug;
use std::future::Future;
use std::rc::Rc;

pub use host::{AsyncHost, LinkBroken};
pub use node::{Tasks, async_cluster};
pub use wire::Wire;

use crate::node::{CallId, Handled, NodeId};

/// A node whose code is tasks of tokio.
///
/// All tasks of a host run in one thread, and the thread's clock and random numbers are those of
/// the host: those of `std` and of tokio as well. Tasks may use all of tokio but threads, files and
/// sockets. What is in memory is lost in a crash.
pub trait AsyncNode: Sized + 'static {
    /// A message between nodes.
    type Msg: Clone + Debug + 'static;
    /// A call of a client.
    type Call: Clone + Debug + 'static;
    /// The reply to a call.
    type Reply: Clone + Debug + 'static;

    /// Starts the node on its host: for the first time, and after every crash. Messages and calls
    /// wait until it is done.
    ///
    /// # Errors
    /// The node cannot start. That is a finding, unless a call on a file was made to fail.
    fn open(host: AsyncHost<Self>) -> impl Future<Output = Handled<Self>> + 'static;

    /// Receives a message of [`AsyncHost::send`], in a task of its own.
    ///
    /// # Errors
    /// Any error is a finding, unless a call on a file was made to fail. Then the node crashes.
    fn on_message(
        self: Rc<Self>,
        _from: NodeId,
        _msg: Self::Msg,
    ) -> impl Future<Output = Handled> + 'static {
        async { Ok(()) }
    }

    /// Answers a message of [`AsyncHost::request`], in a task of its own.
    ///
    /// # Errors
    /// Those of [`on_message`](AsyncNode::on_message).
    fn on_request(
        self: Rc<Self>,
        _from: NodeId,
        msg: Self::Msg,
    ) -> impl Future<Output = Handled<Self::Msg>> + 'static {
        async move { Err(format!("on_request is missing, and {msg:?} wants an answer").into()) }
    }

    /// Receives the call of a client, in a task of its own. The node answers with
    /// [`AsyncHost::reply`], here or later.
    ///
    /// # Errors
    /// Those of [`on_message`](AsyncNode::on_message).
    fn on_call(
        self: Rc<Self>,
        _call: CallId,
        _what: Self::Call,
    ) -> impl Future<Output = Handled> + 'static {
        async { Ok(()) }
    }
}
