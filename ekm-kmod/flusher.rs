// SPDX-License-Identifier: GPL-2.0
//! Passes of the flusher (`wb_writeback`, fs/fs-writeback.c), which take no time while the clock
//! stands still.
//!
//! A pass writes what was dirty when it began, and notes that moment in ticks. What is made dirty
//! again while it is written is written once more in the same pass if no tick has passed, and left
//! for a later one if one has: what a sync(2) writes, and in which order, would depend on how fast
//! the machine is. So each time the flusher looks for more, the pass counts as begun just now.
//! An inode that is dirty after each write would keep it busy for ever; after [`MOST`] times the
//! real moment counts again.

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::{c_str, ffi};

use crate::bindings::{self, kprobe, pt_regs};
use crate::clock;
use crate::kprobe::Probe;

/// To be registered.
pub(crate) const PROBES: [Probe; 2] = [
    Probe { symbol: c_str!("wb_writeback"), handler: pass, required: false },
    Probe { symbol: c_str!("queue_io"), handler: look, required: false },
];

/// A pass that goes by age (`for_kupdate`) has begun longer ago than this, in ticks, and is left
/// alone: such a one writes what is older than `vm.dirty_expire_centisecs`, half a minute.
const RECENT: usize = 5 * bindings::K_HZ as usize;

/// How often a pass may look for more without time going on.
const MOST: usize = 16;

/// Whose pass began last (`struct bdi_writeback *`), and how often it has looked since. With one
/// processor passes of two disks alternate only where one waits, and the worst that follows is the
/// real moment, or [`MOST`] times more.
static WHOSE: AtomicUsize = AtomicUsize::new(0);
static LOOKS: AtomicUsize = AtomicUsize::new(0);

/// `long (struct bdi_writeback *, struct wb_writeback_work *)`.
unsafe extern "C" fn pass(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers.
    WHOSE.store(unsafe { (*regs).di }, Ordering::Release);
    LOOKS.store(0, Ordering::Release);
    0
}

/// `void (struct bdi_writeback *, struct wb_writeback_work *, unsigned long dirtied_before)`: moves
/// what was made dirty until then to the inodes that are written next.
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
