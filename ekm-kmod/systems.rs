// SPDX-License-Identifier: GPL-2.0
//! The file systems that are followed.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::bindings::{inode, super_block};
use crate::wire::FOLLOWED_MAX;

/// The super block of each followed file system by number, or null. The pointers are only compared,
/// never dereferenced.
pub(crate) static FOLLOWED: [AtomicPtr<super_block>; FOLLOWED_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; FOLLOWED_MAX];

/// Returns the number of the file system that an inode is in. `None` if it is not followed.
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
