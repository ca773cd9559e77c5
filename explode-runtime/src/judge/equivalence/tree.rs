//! One decision tree: which read comes next, what was there, and what came of it.
//!
//! Invariant: the reads on the way to a leaf are exactly those of the check that made it, each
//! once. In which order does not matter, for a leaf holds for every image that agrees on all of
//! them. A check that does not read what a node on its way has read, though it saw the same up to
//! there, fits nowhere, and is left out.

use std::collections::HashMap;

use explode_ramdisk::{Image, ReadRange, Values};

use super::KnownVerdict;
use crate::dedup::KeyHasherBuilder;

/// The checks of one (epoch, arguments, check_key).
#[derive(Debug, Default)]
pub struct ReadTree {
    /// The root is the first.
    nodes: Vec<ReadNode>,
    /// By node and value. Values are hashes, so a sum of both is one, too.
    edges: HashMap<u128, u32, KeyHasherBuilder>,
}

#[derive(Debug)]
enum ReadNode {
    Inner(ReadRange),
    Leaf(KnownVerdict),
}

impl ReadTree {
    /// The check that says what comes of this image, too.
    pub fn find(&self, image: &Image, values: &mut Values) -> Option<&KnownVerdict> {
        let mut at = 0;
        loop {
            match self.nodes.get(at as usize)? {
                ReadNode::Leaf(answer) => return Some(answer),
                ReadNode::Inner(read) => {
                    at = *self.edges.get(&edge(at, values.of(*read, image)))?
                }
            }
        }
    }

    /// Notes what came of a check of `image`, and all that it has read. Returns how many nodes that
    /// took.
    pub fn insert(
        &mut self,
        image: &Image,
        reads: &[ReadRange],
        answer: KnownVerdict,
        values: &mut Values,
    ) -> usize {
        let before = self.nodes.len();
        let mut left: Vec<ReadRange> = reads.iter().rev().copied().collect();
        let mut at = 0;
        loop {
            match self.nodes.get_mut(at as usize) {
                // Only the root can be missing.
                None => return self.grow(None, image, left, answer, values),
                Some(ReadNode::Leaf(known)) => {
                    // The same once more, and it says more; or the system has read more, and there
                    // is no place for that.
                    if left.is_empty() && known.recovery.is_none() {
                        *known = answer;
                    }
                    return self.nodes.len() - before;
                }
                Some(ReadNode::Inner(read)) => {
                    let read = *read;
                    // It is the next one, as a rule.
                    let Some(place) = left.iter().rposition(|other| *other == read) else {
                        return 0;
                    };
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
        left: Vec<ReadRange>,
        answer: KnownVerdict,
        values: &mut Values,
    ) -> usize {
        let added = left.len() + 1;
        let mut from = from;
        for read in left.into_iter().rev() {
            let at = self.add(from, ReadNode::Inner(read));
            from = Some(edge(at, values.of(read, image)));
        }
        self.add(from, ReadNode::Leaf(answer));
        added
    }

    fn add(&mut self, from: Option<u128>, node: ReadNode) -> u32 {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use explode_ramdisk::{Disk, Identity, SECTOR_BYTES};
    use proptest::prelude::*;

    use super::*;
    use crate::judge::equivalence::DiskVerdict;

    const BLOCKS: u64 = 8;

    /// Each block is filled with one byte.
    fn image(bytes: &[u8]) -> Image {
        let mut disk = Disk::new();
        for (block, byte) in (0..).zip(bytes) {
            disk.write(block * 8, &[*byte; 8 * SECTOR_BYTES]);
        }
        Image::from_iter([(0, disk)])
    }

    fn block(block: u64) -> ReadRange {
        ReadRange::Sectors { dev: 0, block, sectors: u8::MAX }
    }

    fn answer(outcome: DiskVerdict) -> KnownVerdict {
        KnownVerdict { outcome, recovery: None, disk: Identity::default() }
    }

    fn outcome(tree: &ReadTree, bytes: &[u8]) -> Option<DiskVerdict> {
        tree.find(&image(bytes), &mut Values::default()).map(|answer| answer.outcome.clone())
    }

    fn insert(tree: &mut ReadTree, bytes: &[u8], reads: &[u64], outcome: DiskVerdict) -> usize {
        let reads: Vec<ReadRange> = reads.iter().map(|number| block(*number)).collect();
        tree.insert(&image(bytes), &reads, answer(outcome), &mut Values::default())
    }

    #[test]
    fn what_was_not_read_makes_no_difference() {
        let mut tree = ReadTree::default();
        assert_eq!(outcome(&tree, &[1, 2]), None);
        assert_eq!(insert(&mut tree, &[1, 2, 3], &[0, 2], DiskVerdict::Ok), 3);
        assert_eq!(outcome(&tree, &[1, 9, 3, 9]), Some(DiskVerdict::Ok));
        assert_eq!(outcome(&tree, &[1, 2, 4]), None);
        assert_eq!(outcome(&tree, &[2, 2, 3]), None);
        // One that differs at the second read has one node of its own.
        assert_eq!(insert(&mut tree, &[1, 2, 4], &[0, 2], DiskVerdict::Repaired), 1);
        assert_eq!(outcome(&tree, &[1, 0, 4]), Some(DiskVerdict::Repaired));
    }

    #[test]
    fn another_order_of_the_same_reads_fits() {
        let mut tree = ReadTree::default();
        insert(&mut tree, &[1, 2, 3], &[0, 1, 2], DiskVerdict::Ok);
        assert_eq!(insert(&mut tree, &[1, 2, 4], &[2, 0, 1, 7], DiskVerdict::Repaired), 2);
        assert_eq!(outcome(&tree, &[1, 2, 4]), Some(DiskVerdict::Repaired));
        assert_eq!(outcome(&tree, &[1, 2, 4, 0, 0, 0, 0, 1]), None, "block 7 was read, too");
    }

    #[test]
    fn a_check_that_fits_nowhere_is_left_out() {
        let mut tree = ReadTree::default();
        insert(&mut tree, &[1, 2], &[0, 1], DiskVerdict::Ok);
        // It saw the same in block 0, and did not read block 1.
        assert_eq!(insert(&mut tree, &[1, 3], &[0, 2], DiskVerdict::Repaired), 0);
        assert_eq!(outcome(&tree, &[1, 3]), None);
        // It read more than one that it agrees with.
        assert_eq!(insert(&mut tree, &[1, 2], &[0, 1, 2], DiskVerdict::Repaired), 0);
        assert_eq!(outcome(&tree, &[1, 2]), Some(DiskVerdict::Ok));
    }

    #[test]
    fn a_check_that_says_more_takes_the_place_of_another() {
        let mut tree = ReadTree::default();
        insert(&mut tree, &[1], &[0], DiskVerdict::Ok);
        let more = KnownVerdict { recovery: Some(Arc::default()), ..answer(DiskVerdict::Ok) };
        assert!(!answer(DiskVerdict::Ok).is_enough(true) && more.is_enough(true));
        tree.insert(&image(&[1]), &[block(0)], more, &mut Values::default());
        let found = tree.find(&image(&[1]), &mut Values::default()).unwrap();
        assert!(found.is_enough(true));
    }

    /// Goes from block to block by what it finds, as `way` has it; then that decides. Returns what
    /// it has read.
    fn check(way: &[u8], bytes: &[u8]) -> (Vec<u64>, DiskVerdict) {
        let (mut at, mut reads) = (0_usize, Vec::new());
        for _ in 0..4 {
            let block = (usize::from(way[at % way.len()]) + at) % BLOCKS as usize;
            if !reads.contains(&(block as u64)) {
                reads.push(block as u64);
            }
            at = at * 5 + usize::from(bytes[block]) + 1;
        }
        (reads, if at % 3 == 0 { DiskVerdict::Repaired } else { DiskVerdict::Ok })
    }

    proptest! {
        /// Whatever else a check reads beside, and in whatever order: what is found is right.
        #[test]
        fn what_is_found_is_right(
            way in prop::collection::vec(any::<u8>(), 40),
            runs in prop::collection::vec(
                (prop::collection::vec(0_u8..3, 8), prop::collection::vec(0..BLOCKS, 0..3),
                    any::<prop::sample::Index>()),
                1..60,
            ),
        ) {
            let mut tree = ReadTree::default();
            for (bytes, beside, turn) in &runs {
                let (mut reads, right) = check(&way, bytes);
                if let Some(found) = outcome(&tree, bytes) {
                    prop_assert_eq!(&found, &right);
                }
                let unread = beside.iter().copied().filter(|block| !reads.contains(block));
                let more: Vec<u64> = unread.collect();
                reads.extend(more);
                reads.sort_unstable();
                reads.dedup();
                let turn = turn.index(reads.len());
                reads.rotate_left(turn);
                insert(&mut tree, bytes, &reads, right);
            }
            for (bytes, ..) in &runs {
                let right = check(&way, bytes).1;
                prop_assert!(outcome(&tree, bytes).is_none_or(|found| found == right));
            }
        }
    }
}
