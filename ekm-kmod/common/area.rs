// SPDX-License-Identifier: GPL-2.0
//! Memory of the module that user space may map.
//!
//! Invariant: an [`Area`] outlives the mappings that it counts. Its owner looks at
//! [`Area::is_mapped`] before it drops one; the control device's open file, which every mapping
//! holds, keeps the module itself.

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::prelude::*;

use crate::bindings;

/// Zeroed pages of their own (`vmalloc_user`).
pub(crate) struct Area {
    base: *mut u8,
    bytes: usize,
    /// How many mappings there are; in a box, because each mapping has its address.
    mappings: KBox<AtomicUsize>,
}

// SAFETY: An area is memory and a counter. Who reads and writes the memory, and when, is the
// business of its owner, who gets but a raw pointer from it.
unsafe impl Send for Area {}
// SAFETY: As above.
unsafe impl Sync for Area {}

impl Area {
    /// Allocates `bytes` of zeroes. `ENOMEM` if that is more than what is free: the kernel would
    /// begin to kill processes for it.
    pub(crate) fn new(bytes: usize) -> Result<Self> {
        let pages = bytes.div_ceil(bindings::K_PAGE_SIZE as usize);
        // SAFETY: Only reads counters.
        let available = unsafe { bindings::si_mem_available() };
        if usize::try_from(available).unwrap_or(0) <= pages {
            return Err(ENOMEM);
        }
        let mappings = KBox::new(AtomicUsize::new(0), GFP_KERNEL)?;
        // SAFETY: Any size may be asked for.
        let base = unsafe { bindings::vmalloc_user_noprof(bytes) }.cast::<u8>();
        if base.is_null() {
            return Err(ENOMEM);
        }
        Ok(Self { base, bytes, mappings })
    }

    /// Its first byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether user space maps any of it.
    pub(crate) fn is_mapped(&self) -> bool {
        self.mappings.load(Ordering::Acquire) != 0
    }

    /// Maps its beginning to all of `vma` (`remap_vmalloc_range`). `EINVAL` if `vma` is longer, or
    /// private.
    ///
    /// # Safety
    ///
    /// `vma` is what an `mmap` file operation got.
    pub(crate) unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result {
        // SAFETY: The caller's promise: no other task uses `vma` yet. The counter is freed with the
        // area, not before the mapping.
        unsafe {
            if flags(vma) & bindings::K_VM_SHARED == 0 {
                return Err(EINVAL);
            }
            kernel::error::to_result(bindings::remap_vmalloc_range(vma, self.base.cast(), 0))?;
            let mappings: *const AtomicUsize = &*self.mappings;
            (*vma).vm_private_data = mappings.cast_mut().cast();
            (*vma).vm_ops = &OPERATIONS;
        }
        self.mappings.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// As [`Area::map`], but user space may not write to it; `EINVAL` if it asks to.
    ///
    /// # Safety
    ///
    /// As for [`Area::map`].
    pub(crate) unsafe fn map_read_only(&self, vma: *mut bindings::vm_area_struct) -> Result {
        // SAFETY: The caller's promise; without `VM_MAYWRITE`, mprotect cannot make it writable
        // either (`vm_flags_clear`, which needs no lock before the mapping is there).
        unsafe {
            if flags(vma) & bindings::K_VM_WRITE != 0 {
                return Err(EINVAL);
            }
            (*vma).__bindgen_anon_2.__vm_flags &= !bindings::K_VM_MAYWRITE;
            self.map(vma)
        }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: `base` is of `vmalloc_user`, and it has no user any more.
        unsafe { bindings::vfree(self.base.cast()) }
    }
}

/// `vma->vm_flags`.
///
/// # Safety
///
/// `vma` is valid.
unsafe fn flags(vma: *const bindings::vm_area_struct) -> bindings::vm_flags_t {
    // SAFETY: The caller's promise; both members of the union are the same number.
    unsafe { (*vma).__bindgen_anon_2.vm_flags }
}

/// Counts mappings that are copied (fork), split and ended.
static OPERATIONS: bindings::vm_operations_struct =
    bindings::vm_operations_struct { open: Some(opened), close: Some(closed), ..NO_OPERATIONS };

// SAFETY: All members are optional functions: zero is none.
const NO_OPERATIONS: bindings::vm_operations_struct = unsafe { core::mem::zeroed() };

/// The counter of the area that `vma` maps.
///
/// # Safety
///
/// `vma` was given to [`Area::map`] with success, or is a copy of one that was.
unsafe fn counter<'a>(vma: *mut bindings::vm_area_struct) -> &'a AtomicUsize {
    // SAFETY: The caller's promise, and the invariant of this file: the counter is still there.
    unsafe { &*(*vma).vm_private_data.cast::<AtomicUsize>() }
}

unsafe extern "C" fn opened(vma: *mut bindings::vm_area_struct) {
    // SAFETY: Only mappings made by `Area::map` have these operations.
    unsafe { counter(vma) }.fetch_add(1, Ordering::AcqRel);
}

unsafe extern "C" fn closed(vma: *mut bindings::vm_area_struct) {
    // SAFETY: Only mappings made by `Area::map` have these operations.
    unsafe { counter(vma) }.fetch_sub(1, Ordering::AcqRel);
}
