// SPDX-License-Identifier: GPL-2.0
//! Memory of the module that user space can map.
//!
//! Invariant: an [`Area`] outlives the mappings that it counts. Its owner checks
//! [`Area::is_mapped`] before it drops the area. Every mapping holds the open file of the control
//! device, which keeps the module.

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::prelude::*;

use crate::bindings;

/// Zeroed pages that nothing else uses (`vmalloc_user`).
pub(crate) struct Area {
    base: *mut u8,
    bytes: usize,
    /// The number of mappings, in a box because each mapping has its address.
    mappings: KBox<AtomicUsize>,
}

// SAFETY: An area is memory and a counter. It only gives out a raw pointer to the memory. Its owner
// is responsible for the order of reads and writes.
unsafe impl Send for Area {}
// SAFETY: As above.
unsafe impl Sync for Area {}

impl Area {
    /// Allocates `bytes` of zeroes. `ENOMEM` if less memory is free, because the kernel would
    /// otherwise start to kill processes.
    pub(crate) fn new(bytes: usize) -> Result<Self> {
        let pages = bytes.div_ceil(bindings::K_PAGE_SIZE as usize);
        // SAFETY: Only reads counters.
        let available = unsafe { bindings::si_mem_available() };
        if usize::try_from(available).unwrap_or(0) <= pages {
            return Err(ENOMEM);
        }
        let mappings = KBox::new(AtomicUsize::new(0), GFP_KERNEL)?;
        // SAFETY: Any size is a valid argument.
        let base = unsafe { bindings::vmalloc_user_noprof(bytes) }.cast::<u8>();
        if base.is_null() {
            return Err(ENOMEM);
        }
        Ok(Self { base, bytes, mappings })
    }

    /// Returns the address of the first byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if user space maps any part of the area.
    pub(crate) fn is_mapped(&self) -> bool {
        self.mappings.load(Ordering::Acquire) != 0
    }

    /// Maps the start of the area to all of `vma` (`remap_vmalloc_range`). `EINVAL` if `vma` is
    /// longer than the area or private.
    ///
    /// # Safety
    ///
    /// `vma` is the argument of an `mmap` file operation.
    pub(crate) unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result {
        // SAFETY: The caller's promise: no other task uses `vma` yet. The counter is freed with the
        // area, which outlives the mapping.
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

    /// Maps like [`Area::map`], without write access for user space. `EINVAL` if it requests write
    /// access.
    ///
    /// # Safety
    ///
    /// Those of [`Area::map`].
    pub(crate) unsafe fn map_read_only(&self, vma: *mut bindings::vm_area_struct) -> Result {
        // SAFETY: The caller's promise. Without `VM_MAYWRITE`, mprotect cannot make the mapping
        // writable (`vm_flags_clear`, which needs no lock before the mapping exists).
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
        // SAFETY: `base` is from `vmalloc_user` and no longer used.
        unsafe { bindings::vfree(self.base.cast()) }
    }
}

/// Returns `vma->vm_flags`.
///
/// # Safety
///
/// `vma` is valid.
unsafe fn flags(vma: *const bindings::vm_area_struct) -> bindings::vm_flags_t {
    // SAFETY: The caller's promise. Both members of the union are the same number.
    unsafe { (*vma).__bindgen_anon_2.vm_flags }
}

/// Counts mappings that are copied (fork), split and removed.
static OPERATIONS: bindings::vm_operations_struct =
    bindings::vm_operations_struct { open: Some(opened), close: Some(closed), ..NO_OPERATIONS };

// SAFETY: All members are optional functions, and zero is `None`.
const NO_OPERATIONS: bindings::vm_operations_struct = unsafe { core::mem::zeroed() };

/// Returns the counter of the area that `vma` maps.
///
/// # Safety
///
/// `vma` was passed to [`Area::map`] with success, or is a copy of such a mapping.
unsafe fn counter<'a>(vma: *mut bindings::vm_area_struct) -> &'a AtomicUsize {
    // SAFETY: The caller's promise, and the invariant of this file: the counter still exists.
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
