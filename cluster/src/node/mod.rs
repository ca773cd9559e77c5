//! Nodes: the state machines that a user writes or wraps, and what a node may do on its host.

mod host;

use std::error::Error;
use std::fmt;

pub use host::{Effect, Full, Host, HostParts};

/// The result of a node's handler. Any error type is accepted.
pub type Handled<T = ()> = Result<T, Box<dyn Error>>;

/// The identity of a node and its host, from 1: `n1`, `n2` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Returns the place of the node in a list of all nodes.
    pub fn index(self) -> usize {
        self.0 as usize - 1
    }

    /// Returns the node at a place in a list of all nodes.
    pub fn at(index: usize) -> NodeId {
        NodeId(index as u32 + 1)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// A timer of a node. A node has one timer of each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer(pub u32);

/// The number of a call of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// A node: a state machine that reacts to messages, timers and calls of clients.
///
/// A handler runs to its end without waiting. Everything that it does on its host it does through
/// [`Host`]. It must depend on nothing else: no clock, no random numbers, no threads, no order of a
/// `HashMap`. What is in the node's fields is lost in a crash. What it has written to
/// [`Host::files`] is on the disk as far as it was synced; of the rest a crash keeps any part that
/// POSIX allows.
pub trait Node: Sized + 'static {
    /// A message between nodes.
    type Msg: Clone + fmt::Debug + 'static;
    /// A call of a client.
    type Call: Clone + fmt::Debug + 'static;
    /// The reply to a call.
    type Reply: Clone + fmt::Debug + 'static;

    /// Starts the node on its host: for the first time, and after every crash.
    ///
    /// # Errors
    /// The node cannot start. That is a finding, unless a call on a file was made to fail.
    fn open(host: &mut Host<'_, Self>) -> Handled<Self>;

    /// Receives a message.
    ///
    /// # Errors
    /// Any error is a finding, unless a call on a file was made to fail. Then the node crashes.
    fn on_message(&mut self, from: NodeId, msg: Self::Msg, host: &mut Host<'_, Self>) -> Handled;

    /// Reacts to a timer that fires. A timer fires once.
    ///
    /// # Errors
    /// Those of [`on_message`](Node::on_message).
    fn on_timer(&mut self, _timer: Timer, _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }

    /// Receives the call of a client. The node answers with [`Host::reply`], now or later.
    ///
    /// # Errors
    /// Those of [`on_message`](Node::on_message).
    fn on_call(&mut self, _call: CallId, _what: Self::Call, _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }

    /// Learns that the ordered link to a peer has broken. Messages in both directions are lost.
    ///
    /// # Errors
    /// Those of [`on_message`](Node::on_message).
    fn on_broken_link(&mut self, _peer: NodeId, _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }
}
