// SPDX-License-Identifier: GPL-2.0
//! The file systems that are followed.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::bindings::{inode, super_block};
use crate::wire::FOLLOWED_MAX;

/// The file systems that are followed; null is none. Only compared, never looked into.
pub(crate) static FOLLOWED: [AtomicPtr<super_block>; FOLLOWED_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; FOLLOWED_MAX];

/// Our number of the file system that an inode is in, if it is followed.
///
/// # Safety
///
/// `inode` is valid, or null.
pub(crate) unsafe fn system_of(inode: *const inode) -> Option<u32> {
    if inode.is_null() {
        return None;
    }
    // SAFETY: The caller's promise.
    let system = unsafe { (*inode).i_sb };
    let number = FOLLOWED.iter().position(|followed| followed.load(Ordering::Acquire) == system)?;
    Some(number as u32)
}
