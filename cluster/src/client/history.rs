//! The history of a walk: each call with its reply.

use std::fmt::Debug;

use crate::node::{CallId, NodeId};

/// A call of a client.
#[derive(Clone, Debug)]
pub struct CallRecord<C, R> {
    /// The number of the call.
    pub id: CallId,
    /// The client, from 0.
    pub client: usize,
    /// The node that was called.
    pub node: NodeId,
    /// The call.
    pub call: C,
    /// The place of the call among all calls and replies.
    pub called: u32,
    /// The place of the reply, and the reply; `None` if there is none. Then the call may have taken
    /// effect, or may still take effect.
    pub replied: Option<(u32, R)>,
    /// True if the node has refused the call, so that it never takes effect.
    pub is_refused: bool,
}

/// All calls of a walk, in order.
#[derive(Clone, Debug)]
pub struct CallHistory<C, R> {
    calls: Vec<CallRecord<C, R>>,
    next: u32,
}

impl<C, R> Default for CallHistory<C, R> {
    fn default() -> CallHistory<C, R> {
        CallHistory { calls: Vec::new(), next: 0 }
    }
}

impl<C: Clone + Debug, R: Clone + Debug> CallHistory<C, R> {
    /// Returns the calls, in order.
    pub fn calls(&self) -> &[CallRecord<C, R>] {
        &self.calls
    }

    /// Returns the calls that have a reply, each with it.
    pub fn answered(&self) -> impl Iterator<Item = (&C, &R)> {
        self.calls.iter().filter_map(|call| Some((&call.call, &call.replied.as_ref()?.1)))
    }

    /// Adds a call, and returns its number.
    pub(crate) fn call(&mut self, client: usize, node: NodeId, call: C) -> CallId {
        let (id, called) = (CallId(self.calls.len() as u32), self.next);
        self.next += 1;
        let (replied, is_refused) = (None, false);
        self.calls.push(CallRecord { id, client, node, call, called, replied, is_refused });
        id
    }

    /// Adds a reply. Returns the client if this is the first reply to the call.
    pub(crate) fn reply(&mut self, id: CallId, reply: R) -> Option<usize> {
        let at = self.next;
        let call = self.calls.get_mut(id.0 as usize).filter(|call| call.replied.is_none())?;
        self.next += 1;
        call.replied = Some((at, reply));
        Some(call.client)
    }

    /// Notes that a call was refused. Returns the client if it had no reply.
    pub(crate) fn refuse(&mut self, id: CallId) -> Option<usize> {
        let call = self.calls.get_mut(id.0 as usize).filter(|call| call.replied.is_none())?;
        call.is_refused = true;
        Some(call.client)
    }
}
