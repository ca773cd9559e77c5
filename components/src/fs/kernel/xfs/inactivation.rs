//! Makes inactivation deterministic. XFS frees an inode and its blocks once the inode has no name
//! and no open descriptor.
//!
//! A thread of a work queue does that one clock tick later (`xfs_inodegc_queue` in
//! fs/xfs/xfs_icache.c). It may therefore happen before or after the next transaction, and the log
//! has them in that order. So each call that may leave such an inode is followed by a wait for the
//! thread. The ioctl that frees preallocated blocks ends with such a wait
//! (`xfs_blockgc_free_space`). Limited to files larger than any, it frees nothing.

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
/// `XFS_EOF_FLAGS_MINFILESIZE`: only files of at least `least_bytes` bytes.
const BY_SIZE: u32 = 1 << 4;

/// Waits until inactivation is done on the file system of this directory.
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
    // A failure is one of background work, which no call of the user reports either.
    waited.ok();
}
