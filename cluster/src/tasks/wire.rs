//! Messages between hosts whose nodes are tasks.

use std::fmt;

#[cfg(feature = "sockets")]
use crate::net::IpPacket;

/// A message between hosts whose nodes are tasks.
#[derive(Clone, PartialEq, Eq)]
pub enum Wire<M> {
    /// A message.
    Told(M),
    /// A request.
    Asked(RequestId, M),
    /// The answer to a request.
    Answered(RequestId, M),
    /// A packet of a socket.
    #[cfg(feature = "sockets")]
    Packet(IpPacket),
}

/// The identity of a request of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The number of the start among all starts of hosts in the walk. An answer to a request of
    /// before a crash does not arrive.
    pub start: u32,
    /// The number of the request since then.
    pub number: u32,
}

impl<M: fmt::Debug> fmt::Debug for Wire<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wire::Told(msg) => msg.fmt(f),
            Wire::Asked(id, msg) => write!(f, "#{} {msg:?}", id.number),
            Wire::Answered(id, msg) => write!(f, "answer #{} {msg:?}", id.number),
            #[cfg(feature = "sockets")]
            Wire::Packet(packet) => packet.fmt(f),
        }
    }
}
