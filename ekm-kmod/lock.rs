// SPDX-License-Identifier: GPL-2.0
//! A spin lock that keeps interrupts off (`spin_lock_irqsave`), which the `kernel` crate of 6.12
//! has not.

use core::cell::UnsafeCell;

use crate::bindings;

/// Data that only who holds the lock sees. It can be static.
pub(crate) struct IrqLock<T> {
    lock: UnsafeCell<bindings::raw_spinlock_t>,
    data: UnsafeCell<T>,
}

// SAFETY: The lock lets one in at a time.
unsafe impl<T: Send> Send for IrqLock<T> {}
// SAFETY: As above.
unsafe impl<T: Send> Sync for IrqLock<T> {}

impl<T> IrqLock<T> {
    /// Not held.
    pub(crate) const fn new(data: T) -> Self {
        // SAFETY: All zero is a lock that is free (`__ARCH_SPIN_LOCK_UNLOCKED`; without
        // CONFIG_DEBUG_SPINLOCK there is nothing else in it).
        let lock = UnsafeCell::new(unsafe { core::mem::zeroed() });
        Self { lock, data: UnsafeCell::new(data) }
    }

    /// Runs `inside` with the lock held. It must not sleep, nor come here again.
    pub(crate) fn with<R>(&self, inside: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: The lock is valid and does not move while it is held; between taking and giving
        // it back, the data is ours.
        unsafe {
            let interrupts = bindings::_raw_spin_lock_irqsave(self.lock.get());
            let result = inside(&mut *self.data.get());
            bindings::_raw_spin_unlock_irqrestore(self.lock.get(), interrupts);
            result
        }
    }
}
