//! The events that may happen next.

use super::event::Enabled;
use super::world::World;
use crate::clock::Time;
use crate::fault::HostDiskCondition;
use crate::node::{Node, NodeId, Timer};

/// The number of steps after which a client may give up.
const PATIENCE: u32 = 200;
/// The lowest identity of a client for strategies with priorities.
const CLIENTS: u64 = 1 << 32;

impl<N: Node> World<'_, N> {
    /// Collects what may happen next. What would happen without any choice comes first.
    pub(super) fn collect_enabled(&mut self) {
        self.enabled.clear();
        let World { enabled, nodes, conditions, .. } = self;
        let down = nodes.iter().zip(conditions).enumerate().filter(|(_, (node, condition))| {
            node.is_none() && **condition != HostDiskCondition::OutOfService
        });
        enabled.extend(down.map(|(index, _)| Enabled::Start(NodeId::at(index))));
        let World { enabled, network, nodes, .. } = self;
        network.deliverable(
            |node| nodes[node.index()].is_some(),
            |index| enabled.push(Enabled::Deliver(index)),
        );
        let World { fires, timers, .. } = self;
        fires.clear();
        for (index, timers) in timers.iter().enumerate() {
            fires.extend(timers.iter().map(|(timer, due)| (*due, NodeId::at(index), *timer)));
        }
        fires.sort_by_key(|(due, ..)| *due);
        enabled.extend(fires.iter().map(|(_, node, timer)| Enabled::Fire(*node, *timer)));
        self.only_the_first_due();
        for (client, state) in self.clients.iter().enumerate() {
            match &state.waits {
                None if state.left > 0 && self.nodes.iter().any(Option::is_some) => {
                    self.enabled.push(Enabled::Call(client));
                }
                Some(waits) if waits.is_hopeless || self.step >= waits.since + PATIENCE => {
                    self.enabled.push(Enabled::GiveUp(client));
                }
                _ => {}
            }
        }
    }

    /// Keeps only the messages and timers that are due first, where time decides.
    fn only_the_first_due(&mut self) {
        if !self.setup.clock.is_ordered() {
            return;
        }
        let World { enabled, network, timers, .. } = self;
        let due = |event: &Enabled| match event {
            Enabled::Deliver(index) => Some(network.packets()[*index].due),
            Enabled::Fire(node, timer) => Some(timers[node.index()][timer]),
            _ => None,
        };
        let Some(first) = enabled.iter().filter_map(due).min() else { return };
        enabled.retain(|event| due(event).is_none_or(|due| due == first));
    }

    /// Returns the time at which an event happens.
    pub(super) fn time_of(&self, event: Enabled) -> Time {
        match event {
            _ if !self.setup.clock.is_ordered() => Time(self.now.0 + 1_000_000),
            Enabled::Deliver(index) => self.now.max(self.network.packets()[index].due),
            Enabled::Fire(node, timer) => self.now.max(self.timers[node.index()][&timer]),
            _ => self.now,
        }
    }

    /// Returns the identity of the party that an event runs.
    pub(super) fn id_of(&self, event: Enabled) -> u64 {
        match event {
            Enabled::Start(node) | Enabled::Fire(node, _) => u64::from(node.0),
            Enabled::Deliver(index) => u64::from(self.network.packets()[index].to.0),
            Enabled::Call(client) | Enabled::GiveUp(client) => CLIENTS + client as u64,
        }
    }

    /// Returns the weight of an event. A host that is down soon comes back, so that its node meets
    /// the messages of its earlier life.
    pub(super) fn weight_of(event: Enabled) -> u32 {
        match event {
            Enabled::Start(_) => 4,
            Enabled::Deliver(_) | Enabled::Fire(..) | Enabled::Call(_) | Enabled::GiveUp(_) => 1,
        }
    }

    /// Returns the name of an event. It does not change when an earlier step is left out, unless
    /// the event does.
    pub(super) fn name_of(&self, event: Enabled) -> String {
        match event {
            Enabled::Start(node) => format!("{node} starts"),
            Enabled::Deliver(index) => {
                let packet = &self.network.packets()[index];
                let (from, to) = (packet.from, packet.to);
                match self.network.place_on_link(index) {
                    0 => format!("{from} > {to}"),
                    later => format!("{from} > {to}, {later} later"),
                }
            }
            Enabled::Fire(node, Timer(0)) => format!("{node} timer"),
            Enabled::Fire(node, Timer(number)) => format!("{node} timer {number}"),
            Enabled::Call(client) => format!("client {client} calls"),
            Enabled::GiveUp(client) => format!("client {client} gives up"),
        }
    }
}
