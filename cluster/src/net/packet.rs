//! Packets between hosts.

use std::fmt;
use std::net::Ipv4Addr;

use smoltcp::wire::{IpProtocol, Ipv4Packet, TcpPacket, UdpPacket};

/// An IP packet between two hosts, which a story shows in words.
#[derive(Clone, PartialEq, Eq)]
pub struct IpPacket(Vec<u8>);

impl IpPacket {
    /// Returns the packet with these bytes, which a stack has made.
    pub(super) fn new(bytes: Vec<u8>) -> IpPacket {
        IpPacket(bytes)
    }

    /// Returns the bytes of the packet.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Returns the address of the receiver.
    pub(super) fn receiver(&self) -> Ipv4Addr {
        Ipv4Packet::new_unchecked(&self.0).dst_addr()
    }

    /// Returns true for a packet of TCP or UDP.
    pub(super) fn has_ports(&self) -> bool {
        let protocol = Ipv4Packet::new_unchecked(&self.0).next_header();
        matches!(protocol, IpProtocol::Tcp | IpProtocol::Udp)
    }

    /// Returns the ports of the receiver and the sender, if the packet asks for a TCP connection.
    pub(super) fn asks_for_connection(&self) -> Option<(u16, u16)> {
        let ip = Ipv4Packet::new_unchecked(&self.0);
        if ip.next_header() != IpProtocol::Tcp {
            return None;
        }
        let tcp = TcpPacket::new_unchecked(ip.payload());
        (tcp.syn() && !tcp.ack()).then(|| (tcp.dst_port(), tcp.src_port()))
    }

    /// Returns the address of the sender.
    pub(super) fn sender(&self) -> Ipv4Addr {
        Ipv4Packet::new_unchecked(&self.0).src_addr()
    }
}

impl fmt::Debug for IpPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ip = Ipv4Packet::new_unchecked(&*self.0);
        let data = if ip.next_header() == IpProtocol::Tcp {
            let tcp = TcpPacket::new_unchecked(ip.payload());
            write!(f, "tcp {}>{}", tcp.src_port(), tcp.dst_port())?;
            let flags = [(tcp.syn(), "SYN"), (tcp.fin(), "FIN"), (tcp.rst(), "RST")];
            for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
                write!(f, " {flag}")?;
            }
            // Almost all packets acknowledge something.
            if tcp.ack() && (tcp.syn() || tcp.segment_len() == 0 && !tcp.rst()) {
                f.write_str(" ACK")?;
            }
            tcp.payload()
        } else {
            let udp = UdpPacket::new_unchecked(ip.payload());
            write!(f, "udp {}>{}", udp.src_port(), udp.dst_port())?;
            udp.payload()
        };
        if !data.is_empty() {
            write!(f, " \"{}\"", data.escape_ascii())?;
        }
        Ok(())
    }
}
