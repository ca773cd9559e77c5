// SPDX-License-Identifier: GPL-2.0
//! Lists of touched blocks, in order of the first touch.
//!
//! The cost of taking a list depends on its length, not on the size of the disk. Invariants: the
//! bit of a block is set exactly if the block is in the list, so each block is there once. The list
//! has room for all blocks, so a touch allocates nothing.

use kernel::prelude::*;

/// The blocks that were touched since the list was last taken.
pub(crate) struct Touched {
    bits: VVec<u64>,
    list: VVec<u32>,
}

impl Touched {
    /// Makes an empty list for a disk with `blocks` blocks.
    pub(crate) fn new(blocks: usize) -> Result<Self> {
        Ok(Self {
            bits: VVec::from_elem(0, blocks.div_ceil(64), GFP_KERNEL)?,
            list: VVec::with_capacity(blocks, GFP_KERNEL)?,
        })
    }

    /// Records a touch of the blocks `first` to `last`.
    pub(crate) fn touch(&mut self, first: u32, last: u32) {
        for block in first..=last {
            let bit = 1u64 << (block % 64);
            let Some(word) = self.bits.get_mut(block as usize / 64) else { return };
            if *word & bit == 0 && self.list.push(block, GFP_ATOMIC).is_ok() {
                *word |= bit;
            }
        }
    }

    /// Returns the list so far.
    pub(crate) fn blocks(&self) -> &[u32] {
        &self.list
    }

    /// Removes the first `taken` blocks from the list. Blocks that were touched after them stay.
    pub(crate) fn taken(&mut self, taken: usize) {
        let taken = taken.min(self.list.len());
        for &block in &self.list[..taken] {
            if let Some(word) = self.bits.get_mut(block as usize / 64) {
                *word &= !(1u64 << (block % 64));
            }
        }
        self.list.copy_within(taken.., 0);
        let left = self.list.len().saturating_sub(taken);
        // SAFETY: The list is shorter than before. Numbers need no drop.
        unsafe { self.list.set_len(left) };
    }
}
