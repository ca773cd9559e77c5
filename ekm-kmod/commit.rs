// SPDX-License-Identifier: GPL-2.0
//! A file system that is asked to commit, and not waited for.
//!
//! sync(2) asks each file system twice: first to begin, then to end. Only the kernel can ask
//! for the first half alone. It promises nothing: what the file system does with it, its own thread
//! does in its own time.

use kernel::prelude::*;

use crate::bindings;
use crate::common::call::valid;
use crate::wire::OpenFile;

/// [`crate::wire::EKM_START_COMMIT`].
pub(crate) fn start(file: &OpenFile) -> Result {
    valid(file.reserved == 0)?;
    // SAFETY: Any number may be asked for.
    let file = unsafe { bindings::fget(file.fd) };
    if file.is_null() {
        return Err(EBADF);
    }
    // SAFETY: `fget` has given us the file, which keeps its inode, and that its superblock, mounted
    // until `fput`. The operations are called with the lock that sync(2) has.
    unsafe {
        let sb = (*(*file).f_inode).i_sb;
        bindings::down_read(&mut (*sb).s_umount);
        let sync = (*sb).s_op.as_ref().and_then(|operations| operations.sync_fs);
        let done = sync.map(|sync| sync(sb, 0));
        bindings::up_read(&mut (*sb).s_umount);
        bindings::fput(file);
        done.map_or(Err(not_supported()), kernel::error::to_result)
    }
}

/// "Operation not supported": not among the errors that the `kernel` crate names.
fn not_supported() -> Error {
    Error::from_errno(-(kernel::bindings::EOPNOTSUPP as kernel::ffi::c_int))
}
