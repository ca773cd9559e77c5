// SPDX-License-Identifier: GPL-2.0
//! Bytes that a file system writes to the disk and has never set: they are what the memory held
//! before, which depends on all that was done since the boot. While the clock stands still, they
//! are zeroes. `init_on_alloc` does not help: it passes over caches of inodes, which have
//! constructors, and stacks.
//!
//! | bytes | where they stay as they are |
//! | --- | --- |
//! | JFS: what a new inode has of its extents, its names or its target: a few fields and slots are set | `xtInitRoot`, fs/jfs/jfs_xtree.c; `dtInitRoot`, fs/jfs/jfs_dtree.c; `jfs_symlink`, fs/jfs/namei.c |
//! | JFS: what a sync point and a mount do not say of themselves in the log, 20 bytes of a stack | `lmLogSync`, `lmLogInit`, `lmLogShutdown`, fs/jfs/jfs_logmgr.c; `logMOUNT`, fs/jfs/jfs_mount.c |
//! | HFS: what follows a name of less than 31 bytes in a thread record | `hfs_cat_build_thread`, fs/hfs/catalog.c |
//!
//! Both drivers are modules: the probes are there if the driver was loaded before this module.

use core::{mem::offset_of, ptr};
use kernel::{c_str, ffi};

use crate::bindings::{self, inode, jfs_inode_info, kprobe, lrd, pt_regs};
use crate::clock;
use crate::kprobe::Probe;

/// To be registered.
pub(crate) const PROBES: [Probe; 3] = [
    Probe { symbol: c_str!("diAlloc"), handler: di_alloc, required: false },
    Probe { symbol: c_str!("lmWriteRecord"), handler: lm_write_record, required: false },
    Probe { symbol: c_str!("hfs_asc2mac"), handler: hfs_asc2mac, required: false },
];

/// `struct hfs_name`: a length and 31 bytes.
const HFS_NAME: usize = 32;

/// `int (struct inode *pip, bool dir, struct inode *ip)`: a number for an inode that is new and
/// empty.
unsafe extern "C" fn di_alloc(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if clock::stands_still() {
        // SAFETY: The probed function's argument, an inode of JFS that no other task knows yet: it
        // lies in a `jfs_inode_info`.
        unsafe {
            let ip = (*regs).dx as *mut inode;
            let info = ip.byte_sub(offset_of!(jfs_inode_info, vfs_inode)).cast::<jfs_inode_info>();
            ptr::write_bytes(&raw mut (*info).u, 0, 1);
        }
    }
    0
}

/// `int (struct jfs_log *, struct tblock *, struct lrd *, struct tlock *)`: a record of no
/// transaction says where the log is in step with the disk, or that the file system was mounted.
unsafe extern "C" fn lm_write_record(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if clock::stands_still() {
        // SAFETY: The probed function's argument: a record on the caller's stack.
        unsafe {
            let record = (*regs).dx as *mut lrd;
            let what = u32::from(u16::from_le((*record).type_));
            if what == bindings::LOG_SYNCPT {
                let sync = (*record).log.syncpt.sync;
                (*record).aggregate = 0;
                ptr::write_bytes(&raw mut (*record).log, 0, 1);
                (*record).log.syncpt.sync = sync;
            } else if what == bindings::LOG_MOUNT {
                ptr::write_bytes(&raw mut (*record).log, 0, 1);
            }
        }
    }
    0
}

/// `void (struct super_block *, struct hfs_name *, const struct qstr *)`: it sets the length, and
/// as many bytes.
unsafe extern "C" fn hfs_asc2mac(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if clock::stands_still() {
        // SAFETY: The probed function's argument: a name that no other task knows yet, as large as
        // a name of HFS can be.
        unsafe { ptr::write_bytes((*regs).si as *mut u8, 0, HFS_NAME) };
    }
    0
}
