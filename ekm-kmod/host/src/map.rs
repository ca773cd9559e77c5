//! Memory that is shared with the kernel.

use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of a device, from `offset` on; it ends with its owner.
#[derive(Debug)]
pub(crate) struct DeviceMapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is the process's, and has one owner at a time.
unsafe impl Send for DeviceMapping {}

impl DeviceMapping {
    /// Maps `len` bytes; `writable` or not.
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
        // SAFETY: a new mapping at an address of the kernel's choice; nothing of ours is there.
        let at = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, device, offset)? };
        Ok(DeviceMapping { at: at.cast(), len })
    }

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Panics
    /// Beyond the end.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        self.bounds(offset, into.len());
        // SAFETY: within the mapping, as just checked. The kernel may write there at the same time;
        // no reader sees what it writes before a call into the kernel has returned in between,
        // which orders the two.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.at.as_ptr().add(offset),
                into.as_mut_ptr(),
                into.len(),
            )
        }
    }

    /// The `len` bytes from `offset` on, where they are.
    ///
    /// # Safety
    /// The kernel does not change them as long as they are borrowed.
    ///
    /// # Panics
    /// Beyond the end.
    pub unsafe fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        self.bounds(offset, len);
        // SAFETY: within the mapping, as just checked; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr().add(offset), len) }
    }

    /// Writes `from` at `offset`; for writable mappings.
    ///
    /// # Panics
    /// Beyond the end.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.bounds(offset, from.len());
        // SAFETY: as in `read`; disks are written while they are not in use, and the choices by the
        // very thread that the kernel takes them from.
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
        // SAFETY: this very mapping, and there is no reference into it. An error could only mean
        // that it is not one.
        unsafe { munmap(self.at.cast(), self.len) }.ok();
    }
}
