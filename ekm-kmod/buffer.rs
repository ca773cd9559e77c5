// SPDX-License-Identifier: GPL-2.0
//! The state of a buffer head.

use crate::bindings::{self, buffer_head};

/// The contents of a buffer and their place on its device.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) sector: u64,
    pub(crate) len: usize,
    /// `b_data`.
    pub(crate) data: *const u8,
}

/// Returns true if a bit of `b_state` is set.
///
/// # Safety
///
/// `buffer` is valid.
unsafe fn has(buffer: *const buffer_head, bit: bindings::bh_state_bits) -> bool {
    // SAFETY: The caller's promise. Other tasks set bits meanwhile, by atomic operations.
    let state = unsafe { (&raw const (*buffer).b_state).read_volatile() };
    state & (1 << bit) != 0
}

/// Returns true if the buffer is dirty (`buffer_dirty`).
///
/// # Safety
///
/// `buffer` is valid.
pub(crate) unsafe fn is_dirty(buffer: *const buffer_head) -> bool {
    // SAFETY: The caller's promise.
    unsafe { has(buffer, bindings::bh_state_bits_BH_Dirty) }
}

/// Returns the block of a buffer. `None` if it has no block yet: it is not mapped, or the block is
/// allocated when it is written (`BH_Delay`).
///
/// # Safety
///
/// `buffer` is valid.
pub(crate) unsafe fn block(buffer: *const buffer_head) -> Option<Block> {
    // SAFETY: The caller's promise, here and below.
    unsafe {
        let placed = has(buffer, bindings::bh_state_bits_BH_Mapped)
            && !has(buffer, bindings::bh_state_bits_BH_Delay)
            && !(*buffer).b_bdev.is_null()
            && (*buffer).b_blocknr != bindings::sector_t::MAX;
        if !placed {
            return None;
        }
        let len = (*buffer).b_size;
        let sector = (*buffer).b_blocknr.checked_mul(len as u64 / crate::wire::SECTOR)?;
        Some(Block { sector, len, data: (*buffer).b_data.cast_const().cast() })
    }
}
