//! The view that a property has of the world after a step.

use std::ops::Deref;

use crate::client::CallHistory;
use crate::clock::Time;
use crate::fault::FaultKind;
use crate::node::{Node, NodeId};

/// A view of the world between two steps.
pub struct View<'w, N: Node> {
    pub(crate) nodes: &'w [Option<N>],
    pub(crate) history: &'w CallHistory<N::Call, N::Reply>,
    pub(crate) crashed: Option<&'w (NodeId, Option<N>)>,
    pub(crate) faults: &'w [FaultKind],
    pub(crate) now: Time,
    pub(crate) under_way: usize,
    pub(crate) is_parted: bool,
}

/// A node that is up.
pub struct NodeView<'w, N> {
    /// The identity.
    pub id: NodeId,
    node: &'w N,
}

impl<N> Clone for NodeView<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for NodeView<'_, N> {}

impl<'w, N> NodeView<'w, N> {
    /// Returns the node, for as long as the view.
    pub fn get(self) -> &'w N {
        self.node
    }
}

impl<N> Deref for NodeView<'_, N> {
    type Target = N;

    fn deref(&self) -> &N {
        self.node
    }
}

impl<'w, N: Node> View<'w, N> {
    /// Returns the nodes that are up, in order.
    pub fn up(&self) -> impl Iterator<Item = NodeView<'w, N>> + use<'w, N> {
        let all = self.nodes.iter().enumerate();
        all.filter_map(|(index, node)| {
            Some(NodeView { id: NodeId::at(index), node: node.as_ref()? })
        })
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if every node is up.
    pub fn all_up(&self) -> bool {
        self.nodes.iter().all(Option::is_some)
    }

    /// Returns the calls of clients so far.
    pub fn history(&self) -> &'w CallHistory<N::Call, N::Reply> {
        self.history
    }

    /// Returns true if a fault of this kind happened in the last step.
    pub fn did(&self, fault: FaultKind) -> bool {
        self.faults.contains(&fault)
    }

    /// Returns the node that crashed in the last step, as it was at the end of its handler. `None`
    /// if none crashed, or if it crashed before it was open.
    pub fn crashed(&self) -> Option<NodeView<'w, N>> {
        let (id, node) = self.crashed?;
        Some(NodeView { id: *id, node: node.as_ref()? })
    }

    /// Returns the time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of messages under way.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Returns true while the hosts are parted.
    pub fn is_parted(&self) -> bool {
        self.is_parted
    }
}
