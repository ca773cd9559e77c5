//! The network device of a host: packets that have arrived and packets that leave.

use std::collections::VecDeque;

use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// The size of the largest packet, as on Ethernet.
pub(super) const MTU: usize = 1500;

/// The packets that have arrived, and those that leave, oldest first.
#[derive(Debug, Default)]
pub(super) struct PacketQueues {
    pub arrived: VecDeque<Vec<u8>>,
    pub leaving: VecDeque<Vec<u8>>,
}

/// A packet that has arrived.
pub(super) struct ArrivedPacket(Vec<u8>);

/// A place for a packet that leaves.
pub(super) struct LeavingPacket<'a>(&'a mut VecDeque<Vec<u8>>);

impl Device for PacketQueues {
    type RxToken<'a> = ArrivedPacket;
    type TxToken<'a> = LeavingPacket<'a>;

    fn receive(&mut self, _: Instant) -> Option<(ArrivedPacket, LeavingPacket<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((ArrivedPacket(packet), LeavingPacket(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<LeavingPacket<'_>> {
        Some(LeavingPacket(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        // No fault changes the contents of a packet.
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }
}

impl RxToken for ArrivedPacket {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for LeavingPacket<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = vec![0; len];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}
