// SPDX-License-Identifier: GPL-2.0
//! The disks' major number.
//!
//! Disk N has the minor number N, so the device number of `/dev/rdd<N>` is the same each time a
//! disk of that number is made. Numbers that the block layer gives out (`blk_alloc_ext_minor`) are
//! given back late, and a file system that writes the number of its device to the disk (JFS) would
//! write another one then.

use kernel::{c_str, prelude::*};

use crate::bindings;

const NAME: &CStr = c_str!("rdd");

/// A block major of ours.
pub(crate) struct Major(u32);

impl Major {
    /// The kernel chooses it (`register_blkdev`).
    pub(crate) fn register() -> Result<Self> {
        // SAFETY: The name is static, and copied. There is no callback that makes more disks.
        let major = unsafe { bindings::__register_blkdev(0, NAME.as_char_ptr(), None) };
        kernel::error::to_result(major.min(0))?;
        Ok(Self(major as u32))
    }

    /// The number.
    pub(crate) fn number(&self) -> u32 {
        self.0
    }
}

impl Drop for Major {
    fn drop(&mut self) {
        // SAFETY: It was registered under this name.
        unsafe { bindings::unregister_blkdev(self.0, NAME.as_char_ptr()) };
    }
}
