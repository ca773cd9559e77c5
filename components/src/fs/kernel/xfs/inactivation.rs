//! Inactivation, held still: XFS frees the blocks of an inode, and the inode, once it has no name
//! and no open descriptor.
//!
//! A thread of a work queue does it, a tick of the clock later (`xfs_inodegc_queue` in
//! fs/xfs/xfs_icache.c): whether that is before or after the next transaction is a matter of time,
//! and the log has them in that order. So it is waited for after each call that may leave such an
//! inode. The ioctl that frees preallocated blocks ends with that (`xfs_blockgc_free_space`); told
//! to look only at files larger than any it frees nothing.

use std::os::fd::{AsRawFd, BorrowedFd};

nix::ioctl_read!(free_eofblocks, b'X', 58, EofBlocks);

/// `struct xfs_fs_eofblocks` (fs/xfs/libxfs/xfs_fs.h).
#[repr(C)]
struct EofBlocks {
    version: u32,
    flags: u32,
    uid: u32,
    gid: u32,
    project: u32,
    padding: u32,
    least_bytes: u64,
    reserved: [u64; 12],
}

/// `XFS_EOFBLOCKS_VERSION`.
const VERSION: u32 = 1;
/// `XFS_EOF_FLAGS_MINFILESIZE`: only files that have so many bytes.
const BY_SIZE: u32 = 1 << 4;

/// Waits until it is done, on the file system of this directory.
pub(super) fn finish(root: BorrowedFd<'_>) {
    let mut nothing = EofBlocks {
        version: VERSION,
        flags: BY_SIZE,
        uid: 0,
        gid: 0,
        project: 0,
        padding: 0,
        least_bytes: u64::MAX,
        reserved: [0; 12],
    };
    // SAFETY: the kernel reads one `xfs_fs_eofblocks`.
    let waited = unsafe { free_eofblocks(root.as_raw_fd(), &raw mut nothing) };
    // What it fails with is the failure of work that no call of the user's hears of either.
    waited.ok();
}
