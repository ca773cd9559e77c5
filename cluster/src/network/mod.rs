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
    /// crash breaks the links of its host. The messages to it are lost. Of those that it has sent
    /// on a link some first ones arrive before the receiver learns it. Messages across a partition
    /// wait.
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
    /// True on a link if the message was sent across a partition that has not ended. It is still on
    /// the host of its sender.
    pub is_held: bool,
}

/// The number of messages on a link of a host that crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnLink {
    /// The messages that have left the host. The first ones of them may arrive.
    pub left: u32,
    /// All messages, those that a partition has held on the host among them.
    pub all: u32,
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
        let is_held = self.separates(packet.from, packet.to);
        if self.network == Network::Datagrams && is_held {
            return;
        }
        self.packets.push(Packet { is_held, ..packet });
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
        self.packets.iter_mut().for_each(|packet| packet.is_held = false);
    }

    /// Returns the messages on a link that an earlier crash of its sender has not let pass: those
    /// that have left the host of the sender, and all.
    pub fn on_link(&self, from: NodeId, to: NodeId) -> OnLink {
        let is_on_link = |packet: &&Packet<M>| packet.from == from && packet.to == to;
        let link = self.packets.iter().filter(is_on_link).rev();
        let alive = link.take_while(|packet| packet.msg.is_some());
        let mut on_link = OnLink { left: 0, all: 0 };
        for packet in alive {
            on_link.all += 1;
            on_link.left += u32::from(!packet.is_held);
        }
        on_link
    }

    /// Breaks the links of a host that has crashed. Of the messages that [`on_link`] counts, host
    /// number `i` receives the first `arrive[i]`, and then learns it, at this time.
    ///
    /// [`on_link`]: UnderWay::on_link
    pub fn crashed(&mut self, node: NodeId, arrive: &[u32], now: Time) {
        if self.network == Network::Datagrams {
            return;
        }
        let mut lost: Vec<u32> =
            (0..arrive.len()).map(|to| self.on_link(node, NodeId::at(to)).all).collect();
        lost.iter_mut().zip(arrive).for_each(|(all, arrive)| *all -= arrive);
        // From the last message on, because those of earlier lives come first.
        let packets = std::mem::take(&mut self.packets).into_iter().rev();
        let mut kept: Vec<Packet<M>> = packets
            .filter(|Packet { from, to, .. }| {
                let lost = &mut lost[to.index()];
                let is_lost = *from == node && *lost > 0;
                *lost -= u32::from(is_lost);
                *to != node && !is_lost
            })
            .collect();
        kept.reverse();
        self.packets = kept;
        let others = (0..arrive.len()).map(NodeId::at).filter(|other| *other != node);
        self.packets.extend(others.map(|to| Packet {
            from: node,
            to,
            due: now,
            number: 0,
            msg: None,
            is_held: false,
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
            is_held: false,
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
        network.crashed(NodeId(1), &[0, 0, 0], Time::default());
        let left: Vec<_> = network.packets().iter().map(|one| (one.from.0, one.msg)).collect();
        assert_eq!(left, [(2, Some(9)), (1, None), (1, None)]);
    }

    #[test]
    fn a_crash_lets_first_messages_pass_and_an_earlier_life_is_settled() {
        let mut network = UnderWay::new(Network::Links, None);
        let (from, to) = (NodeId(1), NodeId(2));
        let texts = |network: &UnderWay<u32>| {
            let packets = network.packets().iter();
            packets.filter(|one| one.to == to).map(|one| one.msg).collect::<Vec<_>>()
        };
        [1, 2, 3].into_iter().for_each(|msg| network.send(packet(1, 2, msg)));
        assert_eq!(network.on_link(from, to), OnLink { left: 3, all: 3 });
        network.crashed(from, &[0, 2], Time::default());
        assert_eq!(texts(&network), [Some(1), Some(2), None]);
        assert_eq!(network.on_link(from, to), OnLink { left: 0, all: 0 });
        network.send(packet(1, 2, 4));
        network.part(0b01);
        network.send(packet(1, 2, 5));
        // A message that a partition holds has not left its host.
        assert_eq!(network.on_link(from, to), OnLink { left: 1, all: 2 });
        let mut healed = network.clone();
        healed.heal();
        assert_eq!(healed.on_link(from, to), OnLink { left: 2, all: 2 });
        network.crashed(from, &[0, 1], Time::default());
        assert_eq!(texts(&network), [Some(1), Some(2), None, Some(4), None]);
    }
}
