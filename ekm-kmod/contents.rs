// SPDX-License-Identifier: GPL-2.0
//! The bytes that a call has written. They are read from their current place without sleeping.

use crate::bindings::{self, address_space, folio, iov_iter};

/// The place of the bytes.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// No bytes.
    Nothing,
    /// The page cache of a file, from this byte on.
    Cache(*mut address_space, u64),
    /// Memory of the kernel.
    Memory(*const u8),
    /// The source of a write that bypasses the page cache, as it was at the start of the write.
    User(*const iov_iter),
}

impl Source {
    /// Copies `len` bytes, and zeroes for bytes that no longer exist. Returns true if all bytes
    /// existed.
    ///
    /// # Safety
    ///
    /// The source exists, and `to` has room.
    pub(crate) unsafe fn copy(&self, to: *mut u8, len: usize) -> bool {
        // SAFETY: The caller's promise.
        unsafe {
            core::ptr::write_bytes(to, 0, len);
            match self {
                Source::Nothing => len == 0,
                Source::Cache(mapping, at) => copy_cached(*mapping, *at, to, len),
                Source::Memory(from) => {
                    core::ptr::copy_nonoverlapping(*from, to, len);
                    true
                }
                Source::User(iter) => copy_user(&**iter, to, len),
            }
        }
    }
}

/// Copies from the folios of a page cache.
///
/// # Safety
///
/// `mapping` is valid, and `to` has room.
unsafe fn copy_cached(mapping: *mut address_space, at: u64, to: *mut u8, len: usize) -> bool {
    let end = at.wrapping_add(len as u64);
    let page = bindings::K_PAGE_SIZE as u64;
    let (mut index, last) = ((at / page) as _, (end.wrapping_sub(1) / page) as _);
    let mut batch = bindings::folio_batch { percpu_pvec_drained: true, ..Default::default() };
    let mut copied = 0;
    // SAFETY: The batch holds the folios until it is released.
    unsafe {
        while len > 0 && bindings::filemap_get_folios(mapping, &mut index, last, &mut batch) != 0 {
            for &folio in batch.folios.iter().take(batch.nr.into()) {
                let first =
                    ((*folio).__bindgen_anon_1.__bindgen_anon_1.index as u64).wrapping_mul(page);
                let (from, until) = (first.max(at), first.wrapping_add(bytes(folio)).min(end));
                if from < until {
                    let bytes = until.wrapping_sub(from) as usize;
                    let source = address(folio).wrapping_add(from.wrapping_sub(first) as usize);
                    let target = to.wrapping_add(from.wrapping_sub(at) as usize);
                    core::ptr::copy_nonoverlapping(source, target, bytes);
                    copied = bytes.wrapping_add(copied);
                }
            }
            bindings::__folio_batch_release(&mut batch);
            batch.nr = 0;
        }
    }
    copied == len
}

/// Returns the size of a folio in bytes (`folio_size`).
///
/// # Safety
///
/// `folio` is valid.
unsafe fn bytes(folio: *const folio) -> u64 {
    // SAFETY: The caller's promise. A folio of more than one page has its order in the flags of the
    // second page.
    let order = unsafe {
        if (*folio).__bindgen_anon_1.__bindgen_anon_1.flags & (1 << bindings::pageflags_PG_head)
            == 0
        {
            0
        } else {
            (*folio).__bindgen_anon_2.__bindgen_anon_1._flags_1 & 0xff
        }
    };
    (bindings::K_PAGE_SIZE as u64) << order
}

/// Returns the address of the bytes of a folio (`folio_address`).
///
/// # Safety
///
/// `folio` is valid.
unsafe fn address(folio: *mut folio) -> *const u8 {
    // SAFETY: The caller's promise. There is no high memory on 64-bit, so the address is in the
    // direct map and continues over all pages of the folio.
    unsafe {
        let address = kernel::bindings::kmap_local_page(folio.cast());
        kernel::bindings::kunmap_local(address);
        address.cast::<u8>()
    }
}

/// Copies from the memory of the running program. Stops at memory that cannot be read without a
/// fault.
///
/// # Safety
///
/// `iter` is as it was at the start of a write that has not returned yet, and `to` has room.
unsafe fn copy_user(iter: &iov_iter, mut to: *mut u8, len: usize) -> bool {
    let mut left = len;
    let mut skip = iter.iov_offset as usize;
    // SAFETY: The caller's promise: the vectors exist until the write returns. Only accessible user
    // memory is read.
    unsafe {
        let inner = iter.__bindgen_anon_1.__bindgen_anon_1.as_ref();
        let mut take = |base: *const kernel::ffi::c_void, bytes: usize| {
            let bytes = bytes.min(left);
            let failed = bindings::copy_from_user_nofault(to.cast(), base.cast(), bytes as _) != 0;
            to = to.wrapping_add(bytes);
            left = left.wrapping_sub(bytes);
            !failed
        };
        if u32::from(iter.iter_type) == bindings::iter_type_ITER_UBUF {
            let base = inner.__bindgen_anon_1.ubuf.cast::<u8>().wrapping_add(skip);
            return take(base.cast(), len);
        }
        if u32::from(iter.iter_type) != bindings::iter_type_ITER_IOVEC {
            return false;
        }
        let vectors = inner.__bindgen_anon_1.__iov;
        for index in 0..iter.__bindgen_anon_2.nr_segs as usize {
            let vector = &*vectors.wrapping_add(index);
            let base = vector.iov_base.cast::<u8>().wrapping_add(skip);
            if !take(base.cast(), (vector.iov_len as usize).saturating_sub(skip)) {
                return false;
            }
            skip = 0;
        }
    }
    left == 0
}
