// SPDX-License-Identifier: GPL-2.0
//! The versions of inodes (`i_version`) of btrfs. It gives a new inode none, writes to the disk
//! what the inode that was in that place of memory before has left there, and counts on from it:
//! what has been done since the boot would stand on the disk. While the clock stands still, they
//! begin with 0.

use kernel::{c_str, ffi};

use crate::bindings::{inode, kprobe, pt_regs, super_block};
use crate::clock;
use crate::kprobe::Probe;

/// `BTRFS_SUPER_MAGIC`.
const BTRFS: u64 = 0x9123_683e;

/// To be registered.
pub(crate) const PROBES: [Probe; 1] = [Probe {
    symbol: c_str!("inode_init_always_gfp"),
    handler: inode_init_always,
    required: false,
}];

/// `int (struct super_block *, struct inode *, gfp_t)`: every inode that is made in memory; one
/// that is read from the disk has its version set later.
unsafe extern "C" fn inode_init_always(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if clock::stands_still() {
        // SAFETY: The probed function's arguments; no other task knows the inode yet.
        unsafe {
            if (*((*regs).di as *const super_block)).s_magic == BTRFS as _ {
                (*((*regs).si as *mut inode)).i_version.counter = 0;
            }
        }
    }
    0
}
