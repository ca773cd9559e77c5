// SPDX-License-Identifier: GPL-2.0
//! The major number of the disks.
//!
//! Disk N has the minor number N, so the device number of `/dev/rdd<N>` is the same each time.
//! Numbers from the block layer (`blk_alloc_ext_minor`) are released late, so they would differ. A
//! file system that stores the number of its device on the disk (JFS) would then write another one.

use kernel::{c_str, prelude::*};

use crate::bindings;

const NAME: &CStr = c_str!("rdd");

/// A registered block major number.
pub(crate) struct Major(u32);

impl Major {
    /// Registers a number that the kernel chooses (`register_blkdev`).
    pub(crate) fn register() -> Result<Self> {
        // SAFETY: The name is static and copied. There is no probe callback.
        let major = unsafe { bindings::__register_blkdev(0, NAME.as_char_ptr(), None) };
        kernel::error::to_result(major.min(0))?;
        Ok(Self(major as u32))
    }

    /// Returns the number.
    pub(crate) fn number(&self) -> u32 {
        self.0
    }
}

impl Drop for Major {
    fn drop(&mut self) {
        // SAFETY: The number was registered under this name.
        unsafe { bindings::unregister_blkdev(self.0, NAME.as_char_ptr()) };
    }
}
