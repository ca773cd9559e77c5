//! The network: messages under way, in order or not, and the hosts that are parted.

use crate::clock::Time;
use crate::node::NodeId;

/// The way in which messages travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Network {
    /// Datagrams: any message under way may arrive next. Those sent across a partition are lost.
    #[default]
    Datagrams,
    /// Ordered links, one in each direction between two hosts: the first message arrives first. A
    /// crash breaks the links of its host. The messages to it are lost; those that it has sent are
    /// lost, or all arrive before the others learn it. Messages across a partition wait.
    Links,
}

/// A message under way.
#[derive(Clone, Debug)]
pub struct Packet<M> {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The time at which it arrives, where time decides.
    pub due: Time,
    /// The number of the message, from 1 on. 0 for the news of a broken link.
    pub number: u64,
    /// The contents; `None` if the receiver learns that the link has broken.
    pub msg: Option<M>,
}

/// The messages under way.
#[derive(Clone, Debug)]
pub struct UnderWay<M> {
    network: Network,
    /// The messages, oldest first.
    packets: Vec<Packet<M>>,
    /// The group of each host while they are parted: messages between groups do not arrive. `None`
    /// without a partition.
    parted: Option<u64>,
    /// The largest number of messages on a link. `None` without a bound.
    capacity: Option<u32>,
}

impl<M: Clone> UnderWay<M> {
    /// Returns a network without messages.
    pub fn new(network: Network, capacity: Option<u32>) -> UnderWay<M> {
        UnderWay { network, packets: Vec::new(), parted: None, capacity }
    }

    /// Returns the messages, oldest first.
    pub fn packets(&self) -> &[Packet<M>] {
        &self.packets
    }

    /// Returns the partition: the hosts of one group, as bits.
    pub fn parted(&self) -> Option<u64> {
        self.parted
    }

    /// Returns the free places of the queue to each of `hosts` hosts. Empty without a bound.
    pub fn room(&self, from: NodeId, hosts: usize) -> Vec<u32> {
        let Some(capacity) = self.capacity else { return Vec::new() };
        let used = |to: usize| {
            let on_link = |packet: &&Packet<M>| packet.from == from && packet.to == NodeId::at(to);
            self.packets.iter().filter(on_link).count() as u32
        };
        (0..hosts).map(|to| capacity.saturating_sub(used(to))).collect()
    }

    /// Returns true if a partition separates two hosts.
    pub fn separates(&self, a: NodeId, b: NodeId) -> bool {
        let group = |node: NodeId| self.parted.map(|parted| parted >> node.index() & 1);
        group(a) != group(b)
    }

    /// Puts a message on its way.
    pub fn send(&mut self, packet: Packet<M>) {
        if self.network == Network::Datagrams && self.separates(packet.from, packet.to) {
            return;
        }
        self.packets.push(packet);
    }

    /// Calls `each` with the index of each message that may arrive at a host that is up.
    pub fn deliverable(&self, is_up: impl Fn(NodeId) -> bool, mut each: impl FnMut(usize)) {
        let mut links: Vec<(NodeId, NodeId)> = Vec::new();
        for (index, Packet { from, to, .. }) in self.packets.iter().enumerate() {
            if self.network == Network::Links {
                if links.contains(&(*from, *to)) {
                    continue;
                }
                links.push((*from, *to));
            }
            if is_up(*to) && !self.separates(*from, *to) {
                each(index);
            }
        }
    }

    /// Returns the number of messages of the same link before this one.
    pub fn place_on_link(&self, index: usize) -> usize {
        let Packet { from, to, .. } = &self.packets[index];
        let same = |packet: &&Packet<M>| packet.from == *from && packet.to == *to;
        self.packets[..index].iter().filter(same).count()
    }

    /// Takes a message off the network.
    pub fn take(&mut self, index: usize) -> Packet<M> {
        self.packets.remove(index)
    }

    /// Returns a copy of a message, which stays on its way.
    pub fn copy(&self, index: usize) -> Packet<M> {
        self.packets[index].clone()
    }

    /// Parts the hosts: those whose bit is set from the others. Returns the number of messages that
    /// are lost.
    pub fn part(&mut self, group: u64) -> usize {
        self.parted = Some(group);
        let before = self.packets.len();
        if self.network == Network::Datagrams {
            let packets = std::mem::take(&mut self.packets);
            let kept = packets.into_iter();
            self.packets = kept.filter(|one| !self.separates(one.from, one.to)).collect();
        }
        before - self.packets.len()
    }

    /// Ends the partition.
    pub fn heal(&mut self) {
        self.parted = None;
    }

    /// Returns true if messages of a host are under way on links.
    pub fn has_on_links(&self, from: NodeId) -> bool {
        let mut sent = self.packets.iter().filter(|packet| packet.from == from);
        self.network == Network::Links && sent.any(|packet| packet.msg.is_some())
    }

    /// Breaks the links of a host that has crashed. Each other host learns it, at this time, and
    /// before that receives what is under way to it if `keeps` is true.
    pub fn crashed(&mut self, node: NodeId, hosts: usize, now: Time, keeps: bool) {
        if self.network == Network::Datagrams {
            return;
        }
        self.packets.retain(|packet| packet.to != node && (keeps || packet.from != node));
        let others = (0..hosts).map(NodeId::at).filter(|other| *other != node);
        self.packets.extend(others.map(|to| Packet {
            from: node,
            to,
            due: now,
            number: 0,
            msg: None,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(from: u32, to: u32, msg: u32) -> Packet<u32> {
        Packet {
            from: NodeId(from),
            to: NodeId(to),
            due: Time::default(),
            number: 1,
            msg: Some(msg),
        }
    }

    fn deliverable(network: &UnderWay<u32>) -> Vec<usize> {
        let mut all = Vec::new();
        network.deliverable(|_| true, |index| all.push(index));
        all
    }

    #[test]
    fn links_keep_the_order_and_datagrams_do_not() {
        for (kind, expected) in [(Network::Datagrams, vec![0, 1, 2]), (Network::Links, vec![0, 2])]
        {
            let mut network = UnderWay::new(kind, None);
            [(1, 2, 7), (1, 2, 8), (2, 1, 9)]
                .into_iter()
                .for_each(|(a, b, msg)| network.send(packet(a, b, msg)));
            assert_eq!(deliverable(&network), expected, "{kind:?}");
        }
    }

    #[test]
    fn a_partition_loses_datagrams_and_holds_links() {
        for (kind, lost, after) in [(Network::Datagrams, 1, 1), (Network::Links, 0, 3)] {
            let mut network = UnderWay::new(kind, None);
            [(1, 2, 7), (2, 3, 8)]
                .into_iter()
                .for_each(|(a, b, msg)| network.send(packet(a, b, msg)));
            assert_eq!(network.part(0b001), lost, "{kind:?}");
            assert_eq!(deliverable(&network).len(), 1);
            network.send(packet(1, 3, 9));
            network.heal();
            assert_eq!(deliverable(&network).len(), after, "{kind:?}");
        }
    }

    #[test]
    fn a_crash_breaks_links_and_a_queue_has_its_capacity() {
        let mut network = UnderWay::new(Network::Links, Some(2));
        [(1, 2, 7), (1, 2, 8), (2, 3, 9)]
            .into_iter()
            .for_each(|(a, b, msg)| network.send(packet(a, b, msg)));
        assert_eq!(network.room(NodeId(1), 3), [2, 0, 2]);
        network.crashed(NodeId(1), 3, Time::default(), false);
        let left: Vec<_> = network.packets().iter().map(|one| (one.from.0, one.msg)).collect();
        assert_eq!(left, [(2, Some(9)), (1, None), (1, None)]);
    }
}
