// SPDX-License-Identifier: GPL-2.0
//! The watched block devices, and whether their events are recorded.
//!
//! Probes read this without a lock, so an event that is concurrent with a change may be logged or
//! not.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use kernel::prelude::*;

use crate::bindings;
use crate::common::call::valid;
use crate::wire::{Watch, WATCHES_MAX, WATCH_BUFFERS, WATCH_REQUESTS};

/// A device number as the kernel keeps it (`dev_t`).
pub(crate) type DeviceNumber = u32;

/// One watch. Device 0 means that the slot is free.
struct Slot {
    device: AtomicU32,
    what: AtomicU32,
}

/// The table of watches.
pub(crate) struct Watches {
    recording: AtomicBool,
    /// The end of the used slots.
    end: AtomicU32,
    slots: [Slot; WATCHES_MAX],
}

/// The only table. Probes reach it through this static.
pub(crate) static WATCHES: Watches = Watches {
    recording: AtomicBool::new(false),
    end: AtomicU32::new(0),
    slots: [const { Slot { device: AtomicU32::new(0), what: AtomicU32::new(0) } }; WATCHES_MAX],
};

impl Watches {
    /// Starts or stops recording. Returns the previous state.
    pub(crate) fn record(&self, on: bool) -> bool {
        self.recording.swap(on, Ordering::AcqRel)
    }

    /// Returns true if events are recorded.
    pub(crate) fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Acquire)
    }

    /// Sets a watch ([`crate::wire::EKM_WATCH`]). Calls must not overlap.
    pub(crate) fn set(&self, watch: &Watch, exists: impl FnOnce(DeviceNumber) -> bool) -> Result {
        let slot = self.slots.get(watch.device as usize).ok_or(EINVAL)?;
        valid(watch.what & !(WATCH_BUFFERS | WATCH_REQUESTS) == 0)?;
        // MKDEV() has 12 bits for the major number and 20 for the minor number.
        valid(watch.major < 1 << 12 && watch.minor < 1 << 20)?;
        let device = watch.major << 20 | watch.minor;
        if device != 0 {
            valid(watch.what != 0)?;
            let others = self
                .slots
                .iter()
                .enumerate()
                .filter(|(number, _)| *number != watch.device as usize);
            for (_, other) in others {
                if other.device.load(Ordering::Relaxed) == device {
                    return Err(EEXIST);
                }
            }
            if !exists(device) {
                return Err(ENODEV);
            }
        }
        slot.device.store(0, Ordering::Release);
        slot.what.store(watch.what, Ordering::Release);
        slot.device.store(device, Ordering::Release);
        self.end.fetch_max(watch.device.saturating_add(1), Ordering::AcqRel);
        Ok(())
    }

    /// Stops recording and removes all watches.
    pub(crate) fn clear(&self) {
        self.record(false);
        for slot in &self.slots {
            slot.device.store(0, Ordering::Release);
        }
        self.end.store(0, Ordering::Release);
    }

    /// Returns the device with a number. `ENODEV` if it is not watched.
    pub(crate) fn device(&self, number: u32) -> Result<DeviceNumber> {
        let slot = self.slots.get(number as usize).ok_or(EINVAL)?;
        match slot.device.load(Ordering::Acquire) {
            0 => Err(ENODEV),
            device => Ok(device),
        }
    }

    /// Returns the devices whose buffers are watched, each with its number.
    pub(crate) fn with_buffers(&self) -> impl Iterator<Item = (u32, DeviceNumber)> + '_ {
        let end = self.end.load(Ordering::Acquire) as usize;
        self.slots.iter().take(end).enumerate().filter_map(|(number, slot)| {
            let device = slot.device.load(Ordering::Acquire);
            let watched = device != 0 && slot.what.load(Ordering::Acquire) & WATCH_BUFFERS != 0;
            watched.then_some((number as u32, device))
        })
    }

    /// Returns the number of a device. `None` if events of the kind `what` of the device are not
    /// recorded now.
    ///
    /// # Safety
    ///
    /// `device` is valid, or null.
    pub(crate) unsafe fn recorded(
        &self,
        device: *const bindings::block_device,
        what: u32,
    ) -> Option<u32> {
        if device.is_null() || !self.is_recording() {
            return None;
        }
        // SAFETY: The caller's promise.
        let device = unsafe { (*device).bd_dev };
        let end = self.end.load(Ordering::Acquire) as usize;
        let slots = self.slots.iter().take(end).enumerate();
        for (number, slot) in slots {
            if slot.device.load(Ordering::Acquire) == device {
                return (slot.what.load(Ordering::Acquire) & what != 0).then_some(number as u32);
            }
        }
        None
    }
}
