//! The trees of a unit of work, and how much memory they may take.

use std::collections::HashMap;

use explode_ramdisk::{Event, Image, Payload, ReadRange, Values};

use super::{KnownVerdict, ReadTree};
use crate::dedup::KeyHasherBuilder;

/// About so many bytes are kept. What would go beyond drops everything, which costs time and
/// nothing else.
pub const MEMORY_BYTES: usize = 64 << 20;

/// What a node takes, with its edge and the room that tables leave free.
const NODE_BYTES: usize = 160;

/// Trees by the hash of (epoch, arguments, check_key).
#[derive(Debug, Default)]
pub struct EquivalenceForest {
    trees: HashMap<u128, ReadTree, KeyHasherBuilder>,
    values: Values,
    bytes: usize,
}

impl EquivalenceForest {
    /// Drops everything.
    pub fn clear(&mut self) {
        *self = EquivalenceForest::default();
    }

    /// The check in this tree that says what comes of the image, too.
    pub fn find(&mut self, tree: u128, image: &Image) -> Option<KnownVerdict> {
        self.trees.get(&tree)?.find(image, &mut self.values).cloned()
    }

    /// Notes in this tree what came of a check, and all that it has read.
    pub fn insert(&mut self, tree: u128, image: &Image, reads: &[ReadRange], answer: KnownVerdict) {
        let recovery = answer.recovery.as_ref().map_or(0, |events| events.iter().map(bytes).sum());
        if self.bytes + recovery + reads.len() * NODE_BYTES > MEMORY_BYTES {
            self.clear();
        }
        let nodes =
            self.trees.entry(tree).or_default().insert(image, reads, answer, &mut self.values);
        self.bytes += nodes * NODE_BYTES + recovery;
    }
}

/// What an event takes.
fn bytes(event: &Event) -> usize {
    let data = match event {
        Event::Dirty { data, .. } | Event::Submit { payload: Payload::Data(data), .. } => {
            data.len()
        }
        _ => 0,
    };
    size_of::<Event>() + data
}
