//! The trees of a unit, within a bound of memory.

use std::collections::HashMap;

use explode_ramdisk::{Event, Image, ImageView, Payload, ReadRange, Values};

use super::{KnownVerdict, ReadTree};
use crate::dedup::KeyHasherBuilder;

/// The approximate limit of memory in bytes. An insertion that would exceed it drops everything,
/// which costs only time.
pub const MEMORY_BYTES: usize = 64 << 20;

/// The bytes of a node, including its edge and the spare room of tables.
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

    /// Returns a known verdict in this tree that also holds for the image.
    pub fn find(&mut self, tree: u128, image: &Image) -> Option<KnownVerdict> {
        self.trees.get(&tree)?.find(&ImageView::of(image), &mut self.values).cloned()
    }

    /// Inserts the verdict of a check and its reads into this tree.
    pub fn insert(&mut self, tree: u128, image: &Image, reads: &[ReadRange], answer: KnownVerdict) {
        let recovery = answer.recovery.as_ref().map_or(0, |events| events.iter().map(bytes).sum());
        if self.bytes + recovery + reads.len() * NODE_BYTES > MEMORY_BYTES {
            self.clear();
        }
        let view = ImageView::of(image);
        let nodes =
            self.trees.entry(tree).or_default().insert(&view, reads, answer, &mut self.values);
        self.bytes += nodes * NODE_BYTES + recovery;
    }
}

/// Returns the memory of an event in bytes.
fn bytes(event: &Event) -> usize {
    let data = match event {
        Event::Dirty { data, .. }
        | Event::Append { data, .. }
        | Event::Submit { payload: Payload::Data(data), .. } => data.len(),
        _ => 0,
    };
    size_of::<Event>() + data
}
