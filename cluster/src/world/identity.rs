//! The identity of a state: everything that decides what can still happen.

use std::hash::Hash as _;
use std::io::Write as _;

use xxhash_rust::xxh3::Xxh3;

use super::world::World;
use crate::clock::Time;
use crate::node::Node;

impl<N: Node> World<'_, N> {
    /// Returns the identity of the state: nodes, disks with what is pending, messages, timers,
    /// clients with their history, and the faults that are left. `None` if nodes have no identity,
    /// or if monitors of facts keep states of their own.
    pub fn identity(&self) -> Option<Vec<u8>> {
        let hash_node = self.setup.hash?;
        if !self.monitors.is_empty() {
            return None;
        }
        let mut hash = Xxh3::new();
        for (index, node) in self.nodes.iter().enumerate() {
            (self.was_open[index], self.conditions[index]).hash(&mut hash);
            match node {
                Some(node) => {
                    hash.update(b"up");
                    hash_node(node, &mut hash);
                }
                None => hash.update(b"down"),
            }
            self.disks[index].add_to(&mut hash).expect("the files make a sound log");
            self.clocks[index].hash(&mut hash);
            // Where any timer may fire at any moment, its time does not matter.
            let ordered = self.setup.clock.is_ordered();
            let due = |due: &Time| if ordered { *due } else { Time::default() };
            let timers = self.timers[index].iter().map(|(timer, at)| (*timer, due(at)));
            timers.collect::<Vec<_>>().hash(&mut hash);
        }
        for packet in self.network.packets() {
            let due = if self.setup.clock.is_ordered() { packet.due } else { Time::default() };
            (packet.from, packet.to, due, packet.is_held).hash(&mut hash);
            add_text(&mut hash, &packet.msg);
        }
        self.network.parted().hash(&mut hash);
        if self.setup.clock.is_ordered() {
            self.now.hash(&mut hash);
        }
        self.clients.hash(&mut hash);
        self.fresh.hash(&mut hash);
        add_text(&mut hash, &self.history);
        self.left.hash(&mut hash);
        Some(hash.digest128().to_le_bytes().to_vec())
    }
}

/// Adds a value by its debug text.
fn add_text(hash: &mut Xxh3, value: &impl std::fmt::Debug) {
    let mut text = Vec::new();
    write!(text, "{value:?}").expect("a vector takes all bytes");
    hash.update(&(text.len() as u64).to_le_bytes());
    hash.update(&text);
}
