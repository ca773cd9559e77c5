//! Events: those that may happen next, and those that a handler receives.

use tracing::{Span, debug_span, field};

use super::story::{MOST, short};
use crate::node::{CallId, Node, NodeId, Timer};

/// An event that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enabled {
    /// A node starts on its host.
    Start(NodeId),
    /// A message arrives: its index.
    Deliver(usize),
    /// A timer fires.
    Fire(NodeId, Timer),
    /// A client makes its next call.
    Call(usize),
    /// A client waits no longer for its reply.
    GiveUp(usize),
}

/// The event that a handler receives.
#[derive(Debug)]
pub(super) enum Input<N: Node> {
    /// The node opens.
    Open,
    /// A message from a node.
    Message(NodeId, N::Msg),
    /// The link to a node has broken.
    BrokenLink(NodeId),
    /// A timer.
    Timer(Timer),
    /// The call of a client.
    Call(usize, CallId, N::Call),
}

impl<N: Node> Input<N> {
    /// Returns the span of the handler that receives the event in a step, on a host.
    pub fn span(&self, step: u32, host: NodeId) -> Span {
        let host = field::display(host);
        match self {
            Input::Open => debug_span!("opens", step, host),
            Input::Message(from, msg) => {
                debug_span!("message", step, host, %from, msg = short(&format!("{msg:?}"), MOST))
            }
            Input::BrokenLink(peer) => debug_span!("broken link", step, host, %peer),
            Input::Timer(Timer(timer)) => debug_span!("timer", step, host, timer),
            Input::Call(client, _, call) => {
                debug_span!("call", step, host, client, call = short(&format!("{call:?}"), MOST))
            }
        }
    }

    /// Returns the event in words.
    pub fn words(&self) -> String {
        match self {
            Input::Open => "opens".to_owned(),
            Input::Message(from, msg) => format!("< {msg:?} from {from}"),
            Input::BrokenLink(peer) => format!("< link to {peer} broken"),
            Input::Timer(Timer(0)) => "timer".to_owned(),
            Input::Timer(Timer(number)) => format!("timer {number}"),
            Input::Call(client, _, call) => format!("client {client}: {call:?}"),
        }
    }
}
