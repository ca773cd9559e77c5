// SPDX-License-Identifier: GPL-2.0
//! The dirty buffers in a page cache of a block device or a file.

use core::ops::RangeInclusive;
use core::ptr;

use crate::bindings::{self, address_space, buffer_head, folio};
use crate::buffer::{self, Block};

/// Returns true if folios of the mapping have buffer heads. Other file systems keep other data in
/// `folio->private`.
///
/// # Safety
///
/// `mapping` is valid.
unsafe fn has_buffers(mapping: *const address_space) -> bool {
    // SAFETY: The caller's promise. Operations are static tables.
    let Some(operations) = (unsafe { (*mapping).a_ops.as_ref() }) else { return false };
    let dirty: unsafe extern "C" fn(_, _) -> _ = bindings::block_dirty_folio;
    let invalidate: unsafe extern "C" fn(_, _, _) = bindings::block_invalidate_folio;
    let partial: unsafe extern "C" fn(_, _, _) -> _ = bindings::block_is_partially_uptodate;
    operations.dirty_folio.is_some_and(|function| function as usize == dirty as usize)
        || operations
            .invalidate_folio
            .is_some_and(|function| function as usize == invalidate as usize)
        || operations
            .is_partially_uptodate
            .is_some_and(|function| function as usize == partial as usize)
}

/// Calls `visit` with each buffer of a folio (`folio_buffers`), until it returns false.
///
/// # Safety
///
/// The folio's buffers are kept by its lock or by the mapping's `i_private_lock`. Its private data,
/// if any, is buffers.
pub(crate) unsafe fn each_buffer(
    folio: *const folio,
    mut visit: impl FnMut(*const buffer_head) -> bool,
) {
    // SAFETY: The caller's promise. The buffers of a folio are a ring.
    unsafe {
        let inner = &(*folio).__bindgen_anon_1.__bindgen_anon_1;
        if inner.flags & (1 << bindings::pageflags_PG_private) == 0 {
            return;
        }
        let first = inner.__bindgen_anon_2.private.cast::<buffer_head>().cast_const();
        let mut buffer = first;
        while !buffer.is_null() && visit(buffer) {
            buffer = (*buffer).b_this_page;
            if buffer == first {
                break;
            }
        }
    }
}

/// Calls `visit` with the block of each dirty buffer in these pages that has a block.
///
/// A buffer that is being written is no longer dirty and is not visited. `visit` runs under the
/// mapping's `i_private_lock`, so it must not sleep and must not dirty anything. This function does
/// not sleep.
///
/// # Safety
///
/// `mapping` is valid, and its `i_private_lock` is not held.
pub(crate) unsafe fn each_dirty(
    mapping: *mut address_space,
    pages: RangeInclusive<usize>,
    visit: &mut dyn FnMut(Block),
) {
    // SAFETY: The caller's promise.
    unsafe {
        // `mapping_tagged` is checked first, because most mappings have nothing dirty.
        if (*mapping).i_pages.xa_flags & bindings::K_XA_FLAGS_DIRTY == 0 || !has_buffers(mapping) {
            return;
        }
    }
    // A release of the batch would otherwise drain this processor's lists first. This function must
    // not have side effects.
    let mut batch = bindings::folio_batch { percpu_pvec_drained: true, ..Default::default() };
    let (mut index, last) = pages.into_inner();
    // SAFETY: The batch holds the folios until it is released. Under the lock, a folio that still
    // belongs to the mapping keeps its buffers.
    unsafe {
        loop {
            let tag = bindings::K_PAGECACHE_TAG_DIRTY;
            if bindings::filemap_get_folios_tag(mapping, &mut index, last, tag, &mut batch) == 0 {
                return;
            }
            let lock: *mut kernel::bindings::spinlock_t =
                (&raw mut (*mapping).i_private_lock).cast();
            kernel::bindings::spin_lock(lock);
            for &folio in batch.folios.iter().take(batch.nr.into()) {
                if !ptr::eq((*folio).__bindgen_anon_1.__bindgen_anon_1.mapping, mapping) {
                    continue;
                }
                each_buffer(folio, |head| {
                    if buffer::is_dirty(head) {
                        if let Some(block) = buffer::block(head) {
                            visit(block);
                        }
                    }
                    true
                });
            }
            kernel::bindings::spin_unlock(lock);
            bindings::__folio_batch_release(&mut batch);
            batch.nr = 0;
        }
    }
}
