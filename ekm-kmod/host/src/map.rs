//! Memory that is shared with the kernel.

use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of a device from `offset` on. A drop unmaps it.
#[derive(Debug)]
pub(crate) struct DeviceMapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process and has one owner at a time.
unsafe impl Send for DeviceMapping {}

impl DeviceMapping {
    /// Maps `len` bytes for reading, and for writing if `writable`.
    pub fn new(
        device: &File,
        offset: i64,
        len: usize,
        writable: bool,
    ) -> Result<DeviceMapping, Errno> {
        let length = NonZeroUsize::new(len).ok_or(Errno::EINVAL)?;
        let protection = if writable {
            ProtFlags::PROT_READ | ProtFlags::PROT_WRITE
        } else {
            ProtFlags::PROT_READ
        };
        // SAFETY: a new mapping at an address that the kernel chooses, where nothing else is.
        let at = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, device, offset)? };
        Ok(DeviceMapping { at: at.cast(), len })
    }

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Panics
    /// If the range is beyond the end of the mapping.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        self.bounds(offset, into.len());
        // SAFETY: within the mapping, as checked above. The kernel may write there concurrently. A
        // reader uses what the kernel wrote only after a call into the kernel has returned, which
        // orders the two.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.at.as_ptr().add(offset),
                into.as_mut_ptr(),
                into.len(),
            )
        }
    }

    /// Returns the `len` bytes from `offset` on without copying them.
    ///
    /// # Safety
    /// The kernel does not change the bytes while they are borrowed.
    ///
    /// # Panics
    /// If the range is beyond the end of the mapping.
    pub unsafe fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        self.bounds(offset, len);
        // SAFETY: within the mapping, as checked above. The rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr().add(offset), len) }
    }

    /// Writes `from` at `offset` of a writable mapping.
    ///
    /// # Panics
    /// If the range is beyond the end of the mapping.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.bounds(offset, from.len());
        // SAFETY: as in `read`. Disks are written while they are not in use. Choices are written by
        // the thread from which the kernel reads them.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.at.as_ptr().add(offset), from.len())
        }
    }

    fn bounds(&self, offset: usize, len: usize) {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len), "beyond the mapping");
    }
}

impl Drop for DeviceMapping {
    fn drop(&mut self) {
        // SAFETY: the address and length are those of this mapping, and no reference into it
        // exists. The only possible error is an invalid mapping.
        unsafe { munmap(self.at.cast(), self.len) }.ok();
    }
}
