// SPDX-License-Identifier: GPL-2.0
//! Lists of blocks: which ones were touched, in order of the first touch.
//!
//! Taking a list costs what is in it, whatever the disk's size. Invariants: a block's bit is set
//! just when it is in the list, so each is there once; the list has room for all blocks, so that a
//! touch allocates nothing.

use kernel::prelude::*;

/// Which blocks were touched since the list was last taken.
pub(crate) struct Touched {
    bits: VVec<u64>,
    list: VVec<u32>,
}

impl Touched {
    /// For a disk of so many blocks.
    pub(crate) fn new(blocks: usize) -> Result<Self> {
        Ok(Self {
            bits: VVec::from_elem(0, blocks.div_ceil(64), GFP_KERNEL)?,
            list: VVec::with_capacity(blocks, GFP_KERNEL)?,
        })
    }

    /// Blocks `first` to `last` were touched.
    pub(crate) fn touch(&mut self, first: u32, last: u32) {
        for block in first..=last {
            let bit = 1u64 << (block % 64);
            let Some(word) = self.bits.get_mut(block as usize / 64) else { return };
            if *word & bit == 0 && self.list.push(block, GFP_ATOMIC).is_ok() {
                *word |= bit;
            }
        }
    }

    /// The list so far.
    pub(crate) fn blocks(&self) -> &[u32] {
        &self.list
    }

    /// The first `taken` blocks of the list have been taken: they are forgotten, what was touched
    /// after them stays.
    pub(crate) fn taken(&mut self, taken: usize) {
        let taken = taken.min(self.list.len());
        for &block in &self.list[..taken] {
            if let Some(word) = self.bits.get_mut(block as usize / 64) {
                *word &= !(1u64 << (block % 64));
            }
        }
        self.list.copy_within(taken.., 0);
        let left = self.list.len().saturating_sub(taken);
        // SAFETY: It is shorter than before; numbers need no drop.
        unsafe { self.list.set_len(left) };
    }
}
