//! The addresses of hosts.

use std::net::Ipv4Addr;

use crate::node::NodeId;

/// Returns the address of a host: 10.0.0.1 for `n1`.
pub fn address_of(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, node.0 as u8)
}

/// Returns the host of an address.
pub(super) fn host_of(address: Ipv4Addr, hosts: usize) -> Option<NodeId> {
    (0..hosts).map(NodeId::at).find(|node| address_of(*node) == address)
}
