//! A block device that is written in Rust, as littlefs calls it.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::slice;

use nix::errno::Errno;

use crate::ffi;

/// What littlefs stands on (`struct lfs_config` of `lfs.h`).
pub trait Device {
    /// Fills `buf` from byte `offset` of a block on.
    ///
    /// # Errors
    /// Whatever littlefs is to return.
    fn read(&self, block: u32, offset: u32, buf: &mut [u8]) -> Result<(), Errno>;
    /// Programs bytes of a block that was erased.
    ///
    /// # Errors
    /// Whatever littlefs is to return.
    fn prog(&self, block: u32, offset: u32, data: &[u8]) -> Result<(), Errno>;
    /// Erases a block.
    ///
    /// # Errors
    /// Whatever littlefs is to return.
    fn erase(&self, block: u32) -> Result<(), Errno>;
    /// Makes durable what was programmed and erased.
    ///
    /// # Errors
    /// Whatever littlefs is to return.
    fn sync(&self) -> Result<(), Errno>;
}

/// Returns the calls of a device, for C. The caller must keep the device alive.
pub(crate) fn calls(device: NonNull<Box<dyn Device>>) -> ffi::Device {
    ffi::Device { context: device.as_ptr().cast(), read, prog, erase, sync }
}

/// # Safety
/// `context` is that of [`calls`], whose device is still there.
unsafe fn device<'a>(context: *mut c_void) -> &'a dyn Device {
    // SAFETY: the caller's.
    unsafe { context.cast::<Box<dyn Device>>().as_ref() }.expect("a device is not null").as_ref()
}

fn code(result: Result<(), Errno>) -> c_int {
    result.map_or_else(|errno| -(errno as c_int), |()| 0)
}

unsafe extern "C" fn read(
    context: *mut c_void,
    block: u32,
    offset: u32,
    to: *mut c_void,
    size: u32,
) -> c_int {
    // SAFETY: littlefs gives a buffer of its own, of this size.
    let buf = unsafe { slice::from_raw_parts_mut(to.cast(), size as usize) };
    // SAFETY: `context` comes from `calls`.
    code(unsafe { device(context) }.read(block, offset, buf))
}

unsafe extern "C" fn prog(
    context: *mut c_void,
    block: u32,
    offset: u32,
    from: *const c_void,
    size: u32,
) -> c_int {
    // SAFETY: littlefs gives a buffer of its own, of this size.
    let data = unsafe { slice::from_raw_parts(from.cast(), size as usize) };
    // SAFETY: `context` comes from `calls`.
    code(unsafe { device(context) }.prog(block, offset, data))
}

unsafe extern "C" fn erase(context: *mut c_void, block: u32) -> c_int {
    // SAFETY: `context` comes from `calls`.
    code(unsafe { device(context) }.erase(block))
}

unsafe extern "C" fn sync(context: *mut c_void) -> c_int {
    // SAFETY: `context` comes from `calls`.
    code(unsafe { device(context) }.sync())
}
