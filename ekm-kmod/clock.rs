// SPDX-License-Identifier: GPL-2.0
//! The clock of file systems, which can be frozen.
//!
//! | function | used by |
//! |---|---|
//! | `ktime_get_coarse_real_ts64` | `current_time` (all inode times), commit blocks of jbd2, bcachefs |
//! | `ktime_get_real_seconds` | superblocks of ext2, ext4, nilfs2, bcachefs; `i_dtime`; hfs, hfsplus; md |
//! | `ktime_get_real_ts64` | root items of btrfs, descriptors of udf |
//! | `ktime_get_coarse_with_offset` | checkpoints of f2fs: duration of the mount, ages of segments; a frozen clock returns the same time here |
//!
//! Clocks whose time does not reach a disk are not probed: monotonic ones, and `ktime_get_real_ns`,
//! with which ext4 measures its lazy initialisation. One clock reaches a disk and is not probed
//! because it is not a function: vfat makes short names from `jiffies` when `~1` to `~9` are taken.
//! A thread in a system call that reads the time gets the real time.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use kernel::{c_str, ffi, prelude::*};

use crate::bindings::{self, kprobe, pt_regs, timespec64};
use crate::common::call::valid;
use crate::kprobe::{answer, Probe};
use crate::wire::Clock;

static FROZEN: AtomicBool = AtomicBool::new(false);
static SECONDS: AtomicU64 = AtomicU64::new(0);

/// The probes to register.
pub(crate) const PROBES: [Probe; 4] = [
    Probe { symbol: c_str!("ktime_get_coarse_real_ts64"), handler: timespec, required: true },
    Probe { symbol: c_str!("ktime_get_real_ts64"), handler: timespec, required: true },
    Probe { symbol: c_str!("ktime_get_real_seconds"), handler: seconds, required: true },
    Probe { symbol: c_str!("ktime_get_coarse_with_offset"), handler: nanoseconds, required: false },
];

/// Sets the clock ([`crate::wire::EKM_CLOCK`]). Time is a signed number in the kernel.
pub(crate) fn set(clock: &Clock) -> Result {
    valid(clock.frozen <= 1 && clock.reserved == 0 && i64::try_from(clock.seconds).is_ok())?;
    if clock.frozen == 1 {
        SECONDS.store(clock.seconds, Ordering::Release);
    }
    FROZEN.store(clock.frozen == 1, Ordering::Release);
    Ok(())
}

/// Unfreezes the clock.
pub(crate) fn run() {
    FROZEN.store(false, Ordering::Release);
}

/// Returns true if the clock is frozen for file systems.
pub(crate) fn stands_still() -> bool {
    FROZEN.load(Ordering::Acquire)
}

/// Returns the time for the calling thread. `None` if it gets the real time.
fn frozen() -> Option<u64> {
    (stands_still() && !asks_for_time()).then(|| SECONDS.load(Ordering::Acquire))
}

/// Returns true if the thread is in a system call that reads or sets the time.
fn asks_for_time() -> bool {
    const GETTIMEOFDAY: u64 = 96;
    const ADJTIMEX: u64 = 159;
    const SETTIMEOFDAY: u64 = 164;
    const TIME: u64 = 201;
    const CLOCK_SETTIME: u64 = 227;
    const CLOCK_GETTIME: u64 = 228;
    const CLOCK_ADJTIME: u64 = 305;
    // SAFETY: `task_pt_regs(current)`: the top of the running thread's stack holds its registers at
    // its entry into the kernel. For a kernel thread these are the registers of its fork.
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

/// Probes `void (struct timespec64 *)`.
unsafe extern "C" fn timespec(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    let Some(seconds) = frozen() else { return 0 };
    // SAFETY: The probed functions write to their only argument.
    unsafe {
        ((*regs).di as *mut timespec64).write(timespec64 { tv_sec: seconds as i64, tv_nsec: 0 });
        answer(regs, 0)
    }
}

/// Probes `time64_t (void)`.
unsafe extern "C" fn seconds(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers.
    frozen().map_or(0, |seconds| unsafe { answer(regs, seconds) })
}

/// Probes `ktime_t (enum tk_offsets)`.
unsafe extern "C" fn nanoseconds(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    const SECOND: u64 = 1_000_000_000;
    // SAFETY: The handler's registers.
    frozen().map_or(0, |seconds| unsafe { answer(regs, seconds.wrapping_mul(SECOND)) })
}
