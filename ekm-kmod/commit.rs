// SPDX-License-Identifier: GPL-2.0
//! Starts a commit of a file system without waiting for it.
//!
//! sync(2) calls each file system twice: once to start and once to finish. Only the kernel can make
//! the first call alone. The call promises nothing: the file system's own thread does the work, at
//! a time of its choice.

use kernel::prelude::*;

use crate::bindings;
use crate::common::call::valid;
use crate::wire::OpenFile;

/// Starts a commit ([`crate::wire::EKM_START_COMMIT`]).
pub(crate) fn start(file: &OpenFile) -> Result {
    valid(file.reserved == 0)?;
    // SAFETY: Any number is a valid argument.
    let file = unsafe { bindings::fget(file.fd) };
    if file.is_null() {
        return Err(EBADF);
    }
    // SAFETY: `fget` has returned the file. Until `fput` it keeps its inode, which keeps its
    // superblock mounted. The operations are called under the lock that sync(2) takes.
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

/// Returns "Operation not supported", which the `kernel` crate does not define.
fn not_supported() -> Error {
    Error::from_errno(-(kernel::bindings::EOPNOTSUPP as kernel::ffi::c_int))
}
