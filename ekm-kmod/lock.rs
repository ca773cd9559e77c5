// SPDX-License-Identifier: GPL-2.0
//! A spin lock that disables interrupts (`spin_lock_irqsave`), which the `kernel` crate of 6.12
//! does not have.

use core::cell::UnsafeCell;

use crate::bindings;

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
            let interrupts = bindings::_raw_spin_lock_irqsave(self.lock.get());
            let result = inside(&mut *self.data.get());
            bindings::_raw_spin_unlock_irqrestore(self.lock.get(), interrupts);
            result
        }
    }
}
