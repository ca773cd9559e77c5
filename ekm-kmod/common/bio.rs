// SPDX-License-Identifier: GPL-2.0
//! Bios: their operations and their memory.

use crate::bindings;

/// Returns the operation of a bio (`bio_op`).
///
/// # Safety
///
/// `bio` is a valid bio.
pub(crate) unsafe fn op(bio: *const bindings::bio) -> bindings::req_op {
    // SAFETY: The caller's promise.
    unsafe { (*bio).bi_opf & bindings::K_REQ_OP_MASK }
}

/// The pieces of a bio's memory, in order (`bio_for_each_bvec`). Each is an address and a length.
///
/// The iterator does not advance the bio. A piece may be longer than a page.
pub(crate) struct Pieces {
    vec: *const bindings::bio_vec,
    skip: u32,
    left: u32,
}

/// Returns the pieces of a bio that are not done yet.
///
/// # Safety
///
/// `bio` is valid while the iterator is used, and its operation carries data.
pub(crate) unsafe fn pieces(bio: *const bindings::bio) -> Pieces {
    // SAFETY: The caller's promise. `bi_iter` is packed, so its fields are read as values.
    unsafe {
        let iter = (*bio).bi_iter;
        let index = iter.bi_idx as usize;
        Pieces {
            vec: (*bio).bi_io_vec.wrapping_add(index),
            skip: iter.bi_bvec_done,
            left: iter.bi_size,
        }
    }
}

impl Iterator for Pieces {
    type Item = (*mut u8, usize);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        // SAFETY: `bi_size` bytes are left, so the vector has another element (the invariant of
        // `bvec_iter`).
        let vec = unsafe { *self.vec };
        let len = vec.bv_len.saturating_sub(self.skip).min(self.left);
        let start = (vec.bv_offset as usize).wrapping_add(self.skip as usize);
        self.vec = self.vec.wrapping_add(1);
        self.skip = 0;
        self.left = self.left.wrapping_sub(len);
        // SAFETY: The bio keeps the page alive. There is no high memory on 64-bit, so the address
        // is in the direct map and stays valid after `kunmap_local`. It continues over all pages of
        // the piece, which are physically contiguous.
        let page = unsafe {
            let address = kernel::bindings::kmap_local_page(vec.bv_page.cast());
            kernel::bindings::kunmap_local(address);
            address.cast::<u8>()
        };
        Some((page.wrapping_add(start), len as usize))
    }
}
