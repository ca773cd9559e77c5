// SPDX-License-Identifier: GPL-2.0
//! Passes of the flusher (`wb_writeback`, fs/fs-writeback.c), for which no time passes while the
//! clock is frozen.
//!
//! A pass writes inodes that were dirty when it began, and records that moment in ticks. An inode
//! that becomes dirty again during the pass is written once more in the same pass if no tick has
//! passed, and in a later pass otherwise. The writes of a sync(2) and their order would therefore
//! depend on the speed of the machine. So each time the flusher looks for more, the start of the
//! pass is set to the current tick. An inode that is dirty after each write would keep the flusher
//! busy for ever, so after [`MOST`] times the real start counts again.

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::{c_str, ffi};

use crate::bindings::{self, kprobe, pt_regs};
use crate::clock;
use crate::kprobe::Probe;

/// The probes to register.
pub(crate) const PROBES: [Probe; 2] = [
    Probe { symbol: c_str!("wb_writeback"), handler: pass, required: false },
    Probe { symbol: c_str!("queue_io"), handler: look, required: false },
];

/// The age limit of the start of a pass in ticks. A pass by age (`for_kupdate`) has an older start
/// and is not changed, because it writes what is older than `vm.dirty_expire_centisecs`, 30
/// seconds.
const RECENT: usize = 5 * bindings::K_HZ as usize;

/// The number of times that a pass may look for more before time passes.
const MOST: usize = 16;

/// The write-back of the pass that began last (`struct bdi_writeback *`), and the number of its
/// looks. With one processor, passes of two disks alternate only when one waits. In the worst case
/// the real start counts, or [`MOST`] more looks.
static WHOSE: AtomicUsize = AtomicUsize::new(0);
static LOOKS: AtomicUsize = AtomicUsize::new(0);

/// Probes `long (struct bdi_writeback *, struct wb_writeback_work *)`.
unsafe extern "C" fn pass(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers.
    WHOSE.store(unsafe { (*regs).di }, Ordering::Release);
    LOOKS.store(0, Ordering::Release);
    0
}

/// Probes `void (struct bdi_writeback *, struct wb_writeback_work *, unsigned long
/// dirtied_before)`, which moves inodes that were dirty before that time to those that are written
/// next.
unsafe extern "C" fn look(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if !clock::stands_still() {
        return 0;
    }
    // SAFETY: The handler's registers, and a counter that the kernel exports.
    unsafe {
        let now = (&raw const bindings::jiffies).read_volatile();
        let recent = now.wrapping_sub((*regs).dx) < RECENT;
        let same = WHOSE.load(Ordering::Acquire) == (*regs).di;
        if recent && same && LOOKS.fetch_add(1, Ordering::AcqRel) < MOST {
            (*regs).dx = now;
        }
    }
    0
}
