// SPDX-License-Identifier: GPL-2.0
//! The clock of file systems, which can be made to stand still.
//!
//! | function | asked by |
//! |---|---|
//! | `ktime_get_coarse_real_ts64` | `current_time` (all inode times), commit blocks of jbd2, bcachefs |
//! | `ktime_get_real_seconds` | superblocks of ext2, ext4, nilfs2, bcachefs; `i_dtime`; hfs, hfsplus; md |
//! | `ktime_get_real_ts64` | root items of btrfs, descriptors of udf |
//! | `ktime_get_coarse_with_offset` | checkpoints of f2fs: how long it was mounted, ages of segments; here this clock has the same time |
//!
//! Left alone are clocks that do not reach a disk: monotonic ones, and `ktime_get_real_ns`, which
//! ext4's lazy initialisation times itself with. One that does is left alone because it is no
//! function: vfat makes short names of `jiffies` when `~1` to `~9` are taken. A thread in a system
//! call that asks for the time gets the real time.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use kernel::{c_str, ffi, prelude::*};

use crate::bindings::{self, kprobe, pt_regs, timespec64};
use crate::common::call::valid;
use crate::kprobe::{answer, Probe};
use crate::wire::Clock;

static FROZEN: AtomicBool = AtomicBool::new(false);
static SECONDS: AtomicU64 = AtomicU64::new(0);

/// To be registered.
pub(crate) const PROBES: [Probe; 4] = [
    Probe { symbol: c_str!("ktime_get_coarse_real_ts64"), handler: timespec, required: true },
    Probe { symbol: c_str!("ktime_get_real_ts64"), handler: timespec, required: true },
    Probe { symbol: c_str!("ktime_get_real_seconds"), handler: seconds, required: true },
    Probe { symbol: c_str!("ktime_get_coarse_with_offset"), handler: nanoseconds, required: false },
];

/// [`crate::wire::EKM_CLOCK`]. Time is a signed number in the kernel.
pub(crate) fn set(clock: &Clock) -> Result {
    valid(clock.frozen <= 1 && clock.reserved == 0 && i64::try_from(clock.seconds).is_ok())?;
    if clock.frozen == 1 {
        SECONDS.store(clock.seconds, Ordering::Release);
    }
    FROZEN.store(clock.frozen == 1, Ordering::Release);
    Ok(())
}

/// Lets it run.
pub(crate) fn run() {
    FROZEN.store(false, Ordering::Release);
}

/// Whether it stands still for file systems.
pub(crate) fn stands_still() -> bool {
    FROZEN.load(Ordering::Acquire)
}

/// What the asking thread is to see, if not the real time.
fn frozen() -> Option<u64> {
    (stands_still() && !asks_for_time()).then(|| SECONDS.load(Ordering::Acquire))
}

/// Whether the thread is in a system call that asks for the time, or sets it.
fn asks_for_time() -> bool {
    const GETTIMEOFDAY: u64 = 96;
    const ADJTIMEX: u64 = 159;
    const SETTIMEOFDAY: u64 = 164;
    const TIME: u64 = 201;
    const CLOCK_SETTIME: u64 = 227;
    const CLOCK_GETTIME: u64 = 228;
    const CLOCK_ADJTIME: u64 = 305;
    // SAFETY: `task_pt_regs(current)`: at the top of the running thread's stack are its registers
    // as it entered the kernel; for a kernel thread, what it was forked with.
    let call = unsafe {
        let task = kernel::bindings::get_current();
        let top = (*task).stack.cast::<u8>().wrapping_add(bindings::K_TOP_OF_KERNEL_STACK as usize);
        (*top.cast::<pt_regs>().wrapping_sub(1)).orig_ax as u64
    };
    matches!(
        call,
        GETTIMEOFDAY
            | ADJTIMEX
            | SETTIMEOFDAY
            | TIME
            | CLOCK_SETTIME
            | CLOCK_GETTIME
            | CLOCK_ADJTIME
    )
}

/// `void (struct timespec64 *)`.
unsafe extern "C" fn timespec(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    let Some(seconds) = frozen() else { return 0 };
    // SAFETY: The probed functions write to their only argument.
    unsafe {
        ((*regs).di as *mut timespec64).write(timespec64 { tv_sec: seconds as i64, tv_nsec: 0 });
        answer(regs, 0)
    }
}

/// `time64_t (void)`.
unsafe extern "C" fn seconds(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers.
    frozen().map_or(0, |seconds| unsafe { answer(regs, seconds) })
}

/// `ktime_t (enum tk_offsets)`.
unsafe extern "C" fn nanoseconds(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    const SECOND: u64 = 1_000_000_000;
    // SAFETY: The handler's registers.
    frozen().map_or(0, |seconds| unsafe { answer(regs, seconds.wrapping_mul(SECOND)) })
}
