// SPDX-License-Identifier: GPL-2.0
//! A spin lock that disables interrupts (`spin_lock_irqsave`), which the `kernel` crate of 6.12
//! does not have.

use core::cell::UnsafeCell;

use crate::bindings;
#[cfg(CONFIG_SMP)]
use crate::bindings::{_raw_spin_lock_irqsave as take, _raw_spin_unlock_irqrestore as release};

/// Data that is accessible only under the lock. It can be static.
pub(crate) struct IrqLock<T> {
    lock: UnsafeCell<bindings::raw_spinlock_t>,
    data: UnsafeCell<T>,
}

// SAFETY: Only one holder has access at a time.
unsafe impl<T: Send> Send for IrqLock<T> {}
// SAFETY: As above.
unsafe impl<T: Send> Sync for IrqLock<T> {}

impl<T> IrqLock<T> {
    /// Makes a lock that is not held.
    pub(crate) const fn new(data: T) -> Self {
        // SAFETY: All zeroes is a free lock (`__ARCH_SPIN_LOCK_UNLOCKED`). Without
        // CONFIG_DEBUG_SPINLOCK it has no other field.
        let lock = UnsafeCell::new(unsafe { core::mem::zeroed() });
        Self { lock, data: UnsafeCell::new(data) }
    }

    /// Runs `inside` with the lock held. It must not sleep and must not take this lock again.
    pub(crate) fn with<R>(&self, inside: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: The lock is valid and does not move while it is held. While it is held, no other
        // code has access to the data.
        unsafe {
            let interrupts = take(self.lock.get());
            let result = inside(&mut *self.data.get());
            release(self.lock.get(), interrupts);
            result
        }
    }
}

/// Disables interrupts and returns the processor's flags, which is all that a lock does in a kernel
/// for one processor (`include/linux/spinlock_api_up.h`).
///
/// # Safety
/// [`release`] must follow, with these flags.
#[cfg(not(CONFIG_SMP))]
unsafe fn take(_: *mut bindings::raw_spinlock_t) -> usize {
    let flags;
    // SAFETY: The kernel may disable interrupts (`native_save_fl`, `native_irq_disable`). The
    // compiler moves no access to memory across the instructions, which may access it as well.
    unsafe { core::arch::asm!("pushfq", "pop {}", "cli", out(reg) flags) };
    flags
}

/// Restores what [`take`] has changed.
///
/// # Safety
/// The flags are those that [`take`] has returned.
#[cfg(not(CONFIG_SMP))]
unsafe fn release(_: *mut bindings::raw_spinlock_t, flags: usize) {
    // SAFETY: The flags were valid before.
    unsafe { core::arch::asm!("push {}", "popfq", in(reg) flags) };
}
