//! A decision tree over reads, their values, and the verdicts of checks.
//!
//! Invariant: the reads on the path to a leaf are exactly those of the check that made the leaf,
//! each once. Their order does not matter, because a leaf holds for every image that agrees on all
//! of them. A check that follows a path but lacks a read on it has no place in the tree and is not
//! inserted.

use std::collections::HashMap;

use explode_ramdisk::{ImageView, ReadRange, Values};

use super::KnownVerdict;
use crate::dedup::KeyHasherBuilder;

/// The checks of one (epoch, arguments, check_key).
#[derive(Debug, Default)]
pub struct ReadTree {
    /// The nodes. The root is the first.
    nodes: Vec<ReadNode>,
    /// The next node, by node and value. Values are hashes, so their sum with a multiple of the
    /// node is a hash as well.
    edges: HashMap<u128, u32, KeyHasherBuilder>,
}

#[derive(Debug)]
enum ReadNode {
    Inner(ReadRange),
    Leaf(KnownVerdict),
}

impl ReadTree {
    /// Returns a known verdict that also holds for this image.
    pub fn find(&self, image: &ImageView<'_>, values: &mut Values) -> Option<&KnownVerdict> {
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

    /// Inserts the verdict of a check of `image` and its reads. Returns the number of new nodes.
    pub fn insert(
        &mut self,
        image: &ImageView<'_>,
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
                    // The same check again: a verdict with a recovery replaces one without. If
                    // reads are left, the check has read more than the path has, and the tree has
                    // no place for it.
                    if left.is_empty() && known.recovery.is_none() {
                        *known = answer;
                    }
                    return self.nodes.len() - before;
                }
                Some(ReadNode::Inner(read)) => {
                    let read = *read;
                    // The read is usually the next one.
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

    /// Appends nodes for the reads in `left`, the last one first, and the leaf.
    fn grow(
        &mut self,
        from: Option<u128>,
        image: &ImageView<'_>,
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

    use explode_ramdisk::{Disk, Identity, Image, SECTOR_BYTES};
    use proptest::prelude::*;

    use super::*;
    use crate::judge::equivalence::DiskVerdict;

    const BLOCKS: u64 = 8;

    /// Returns an image in which each block is filled with one byte.
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
        KnownVerdict { verdict: outcome, recovery: None, disk: Identity::default() }
    }

    fn outcome(tree: &ReadTree, bytes: &[u8]) -> Option<DiskVerdict> {
        tree.find(&ImageView::of(&image(bytes)), &mut Values::default())
            .map(|answer| answer.verdict.clone())
    }

    fn insert(tree: &mut ReadTree, bytes: &[u8], reads: &[u64], outcome: DiskVerdict) -> usize {
        let reads: Vec<ReadRange> = reads.iter().map(|number| block(*number)).collect();
        tree.insert(&ImageView::of(&image(bytes)), &reads, answer(outcome), &mut Values::default())
    }

    #[test]
    fn unread_blocks_make_no_difference() {
        let mut tree = ReadTree::default();
        assert_eq!(outcome(&tree, &[1, 2]), None);
        assert_eq!(insert(&mut tree, &[1, 2, 3], &[0, 2], DiskVerdict::Ok), 3);
        assert_eq!(outcome(&tree, &[1, 9, 3, 9]), Some(DiskVerdict::Ok));
        assert_eq!(outcome(&tree, &[1, 2, 4]), None);
        assert_eq!(outcome(&tree, &[2, 2, 3]), None);
        // A check that differs at the second read adds one leaf.
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
        // The second check sees the same value in block 0 and does not read block 1.
        assert_eq!(insert(&mut tree, &[1, 3], &[0, 2], DiskVerdict::Repaired), 0);
        assert_eq!(outcome(&tree, &[1, 3]), None);
        // The third check agrees with the first and reads more.
        assert_eq!(insert(&mut tree, &[1, 2], &[0, 1, 2], DiskVerdict::Repaired), 0);
        assert_eq!(outcome(&tree, &[1, 2]), Some(DiskVerdict::Ok));
    }

    #[test]
    fn a_check_with_more_detail_replaces_another() {
        let mut tree = ReadTree::default();
        insert(&mut tree, &[1], &[0], DiskVerdict::Ok);
        let more = KnownVerdict { recovery: Some(Arc::default()), ..answer(DiskVerdict::Ok) };
        assert!(!answer(DiskVerdict::Ok).is_enough(true) && more.is_enough(true));
        tree.insert(&ImageView::of(&image(&[1])), &[block(0)], more, &mut Values::default());
        let found = tree.find(&ImageView::of(&image(&[1])), &mut Values::default()).unwrap();
        assert!(found.is_enough(true));
    }

    /// Goes from block to block depending on the bytes read, as `path` directs. The last place
    /// decides the verdict. Returns the blocks read and the verdict.
    fn check(path: &[u8], bytes: &[u8]) -> (Vec<u64>, DiskVerdict) {
        let (mut at, mut reads) = (0_usize, Vec::new());
        for _ in 0..4 {
            let block = (usize::from(path[at % path.len()]) + at) % BLOCKS as usize;
            if !reads.contains(&(block as u64)) {
                reads.push(block as u64);
            }
            at = at * 5 + usize::from(bytes[block]) + 1;
        }
        (reads, if at % 3 == 0 { DiskVerdict::Repaired } else { DiskVerdict::Ok })
    }

    proptest! {
        /// A found verdict is right, regardless of additional reads and of their order.
        #[test]
        fn found_verdicts_are_right(
            path in prop::collection::vec(any::<u8>(), 40),
            runs in prop::collection::vec(
                (prop::collection::vec(0_u8..3, 8), prop::collection::vec(0..BLOCKS, 0..3),
                    any::<prop::sample::Index>()),
                1..60,
            ),
        ) {
            let mut tree = ReadTree::default();
            for (bytes, beside, turn) in &runs {
                let (mut reads, right) = check(&path, bytes);
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
                let right = check(&path, bytes).1;
                prop_assert!(outcome(&tree, bytes).is_none_or(|found| found == right));
            }
        }
    }
}
