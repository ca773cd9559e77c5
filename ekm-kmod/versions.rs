// SPDX-License-Identifier: GPL-2.0
//! The inode versions (`i_version`) of btrfs. btrfs does not set the version of a new inode. It
//! writes the value that an earlier inode left at that address, and counts on from it, so the disk
//! would depend on everything since the boot. While the clock is frozen, the versions begin with 0.

use kernel::{c_str, ffi};

use crate::bindings::{inode, kprobe, pt_regs, super_block};
use crate::clock;
use crate::kprobe::Probe;

/// `BTRFS_SUPER_MAGIC`.
const BTRFS: u64 = 0x9123_683e;

/// The probes to register.
pub(crate) const PROBES: [Probe; 1] = [Probe {
    symbol: c_str!("inode_init_always_gfp"),
    handler: inode_init_always,
    required: false,
}];

/// Probes `int (struct super_block *, struct inode *, gfp_t)`, which initialises every inode in
/// memory. The version of an inode that is read from the disk is set later.
unsafe extern "C" fn inode_init_always(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if clock::stands_still() {
        // SAFETY: The probed function's arguments. No other task uses the inode yet.
        unsafe {
            if (*((*regs).di as *const super_block)).s_magic == BTRFS as _ {
                (*((*regs).si as *mut inode)).i_version.counter = 0;
            }
        }
    }
    0
}
