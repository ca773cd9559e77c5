// SPDX-License-Identifier: GPL-2.0
//! Bytes that a file system writes to the disk without setting them. They hold earlier contents of
//! memory, which depend on everything since the boot. While the clock is frozen, they are set to
//! zero. `init_on_alloc` does not help, because it skips caches of inodes, which have constructors,
//! and stacks.
//!
//! | bytes | code that leaves them unset |
//! | --- | --- |
//! | JFS: the extents, names or target of a new inode: only a few fields and slots are set | `xtInitRoot`, fs/jfs/jfs_xtree.c; `dtInitRoot`, fs/jfs/jfs_dtree.c; `jfs_symlink`, fs/jfs/namei.c |
//! | JFS: the unused fields of the log records of a sync point and a mount, 20 bytes of a stack | `lmLogSync`, `lmLogInit`, `lmLogShutdown`, fs/jfs/jfs_logmgr.c; `logMOUNT`, fs/jfs/jfs_mount.c |
//! | HFS: the bytes after a name of less than 31 bytes in a thread record | `hfs_cat_build_thread`, fs/hfs/catalog.c |
//!
//! Both drivers are modules. The probes exist only if the driver was loaded before this module.

use core::{mem::offset_of, ptr};
use kernel::{c_str, ffi};

use crate::bindings::{self, inode, jfs_inode_info, kprobe, lrd, pt_regs};
use crate::clock;
use crate::kprobe::Probe;

/// The probes to register.
pub(crate) const PROBES: [Probe; 3] = [
    Probe { symbol: c_str!("diAlloc"), handler: di_alloc, required: false },
    Probe { symbol: c_str!("lmWriteRecord"), handler: lm_write_record, required: false },
    Probe { symbol: c_str!("hfs_asc2mac"), handler: hfs_asc2mac, required: false },
];

/// `struct hfs_name`: a length and 31 bytes.
const HFS_NAME: usize = 32;

/// Probes `int (struct inode *pip, bool dir, struct inode *ip)`, which gives a new, empty inode its
/// number.
unsafe extern "C" fn di_alloc(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if clock::stands_still() {
        // SAFETY: The probed function's argument is an inode of JFS that no other task uses yet. It
        // is part of a `jfs_inode_info`.
        unsafe {
            let ip = (*regs).dx as *mut inode;
            let info = ip.byte_sub(offset_of!(jfs_inode_info, vfs_inode)).cast::<jfs_inode_info>();
            ptr::write_bytes(&raw mut (*info).u, 0, 1);
        }
    }
    0
}

/// Probes `int (struct jfs_log *, struct tblock *, struct lrd *, struct tlock *)`. A record without
/// a transaction marks a sync point of the log or a mount.
unsafe extern "C" fn lm_write_record(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if clock::stands_still() {
        // SAFETY: The probed function's argument is a record on the caller's stack.
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

/// Probes `void (struct super_block *, struct hfs_name *, const struct qstr *)`, which sets only
/// the length and that number of bytes.
unsafe extern "C" fn hfs_asc2mac(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if clock::stands_still() {
        // SAFETY: The probed function's argument is a name that no other task uses yet, with the
        // size of the longest HFS name.
        unsafe { ptr::write_bytes((*regs).si as *mut u8, 0, HFS_NAME) };
    }
    0
}
