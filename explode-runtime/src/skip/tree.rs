//! One decision tree: which read comes next, what was there, and what came of it.
//!
//! Invariant: the reads on the way to a leaf are exactly those of the check that made it, each once. In which order does not
//! matter, for a leaf holds for every image that agrees on all of them. A check that does not read what a node on its way has
//! read, though it saw the same up to there, fits nowhere, and is left out.

use std::collections::HashMap;

use explode_ramdisk::{Image, Read, Values};

use super::Answer;
use crate::run::ByKey;

/// The checks of one (epoch, arguments, check_key).
#[derive(Debug, Default)]
pub struct Tree {
    /// The root is the first.
    nodes: Vec<Node>,
    /// By node and value. Values are hashes, so a sum of both is one, too.
    edges: HashMap<u128, u32, ByKey>,
}

#[derive(Debug)]
enum Node {
    Inner(Read),
    Leaf(Answer),
}

impl Tree {
    /// The check that says what comes of this image, too.
    pub fn find(&self, image: &Image, values: &mut Values) -> Option<&Answer> {
        let mut at = 0;
        loop {
            match self.nodes.get(at as usize)? {
                Node::Leaf(answer) => return Some(answer),
                Node::Inner(read) => at = *self.edges.get(&edge(at, values.of(*read, image)))?,
            }
        }
    }

    /// Notes what came of a check of `image`, and all that it has read. Returns how many nodes that took.
    pub fn insert(&mut self, image: &Image, reads: &[Read], answer: Answer, values: &mut Values) -> usize {
        let before = self.nodes.len();
        let mut left: Vec<Read> = reads.iter().rev().copied().collect();
        let mut at = 0;
        loop {
            match self.nodes.get_mut(at as usize) {
                // Only the root can be missing.
                None => return self.grow(None, image, left, answer, values),
                Some(Node::Leaf(known)) => {
                    // The same once more, and it says more; or the system has read more, and there is no place for that.
                    if left.is_empty() && known.recovery.is_none() {
                        *known = answer;
                    }
                    return self.nodes.len() - before;
                }
                Some(Node::Inner(read)) => {
                    let read = *read;
                    // It is the next one, as a rule.
                    let Some(place) = left.iter().rposition(|other| *other == read) else { return 0 };
                    left.remove(place);
                    let edge = edge(at, values.of(read, image));
                    match self.edges.get(&edge) {
                        Some(next) => at = *next,
                        None => return self.grow(Some(edge), image, left, answer, values),
                    }
                }
            }
        }
    }

    /// Appends the reads that are left, the last one first, and the leaf.
    fn grow(
        &mut self,
        from: Option<u128>,
        image: &Image,
        left: Vec<Read>,
        answer: Answer,
        values: &mut Values,
    ) -> usize {
        let added = left.len() + 1;
        let mut from = from;
        for read in left.into_iter().rev() {
            let at = self.add(from, Node::Inner(read));
            from = Some(edge(at, values.of(read, image)));
        }
        self.add(from, Node::Leaf(answer));
        added
    }

    fn add(&mut self, from: Option<u128>, node: Node) -> u32 {
        let at = u32::try_from(self.nodes.len()).expect("memory ends before");
        self.nodes.push(node);
        if let Some(edge) = from {
            self.edges.insert(edge, at);
        }
        at
    }
}

fn edge(node: u32, value: u128) -> u128 {
    value.wrapping_add(u128::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}
