// SPDX-License-Identifier: GPL-2.0
//! The log: consecutive records in memory that the user maps.
//!
//! Invariants: one record is appended at a time, and it is complete before `used` and `records` of
//! the header include it. A reader of the header therefore sees whole records below `used`. Only
//! [`Log::reset`] allows old records to be overwritten. Appending takes a spin lock with interrupts
//! off, so it can be called from any probe.

use core::mem::size_of;
use core::sync::atomic::{AtomicU64, Ordering};
use kernel::prelude::*;

use crate::bindings;
use crate::common::area::Area;
use crate::lock::IrqLock;
use crate::wire::{self, LogHeader, RecordHeader, Reset};

/// The length of a record's header in bytes.
const HEADER: usize = size_of::<RecordHeader>();

/// An event without its data.
#[derive(Clone, Copy, Default)]
pub(crate) struct Event {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) device: u32,
    pub(crate) sector: u64,
    pub(crate) len: u64,
    pub(crate) request: u64,
}

/// The log.
pub(crate) struct Log(IrqLock<Option<Records>>);

/// The only log. Probes reach it through this static.
pub(crate) static LOG: Log = Log(IrqLock::new(None));

/// The memory of a log, with its counters.
struct Records {
    area: Area,
    header: LogHeader,
}

impl Log {
    /// Makes a new log with `bytes` bytes for records. Returns the number of bytes of the old log.
    /// `EBUSY` while the log is mapped.
    ///
    /// Calls must not overlap with each other or with [`Log::map`].
    pub(crate) fn make(&self, bytes: u64) -> Result<u64> {
        let before = self.0.with(|records| match records {
            Some(records) if records.area.is_mapped() => Err(EBUSY),
            Some(records) => Ok(records.header.capacity),
            None => Ok(0),
        })?;
        let total = bytes.checked_add(wire::LOG_DATA).and_then(|total| usize::try_from(total).ok());
        let records = Records::new(Area::new(total.ok_or(EINVAL)?)?, bytes);
        // Frees the memory of the old log here, without the lock.
        drop(self.0.with(|place| place.replace(records)));
        Ok(before)
    }

    /// Makes the log if it does not exist. Calls must not overlap.
    pub(crate) fn require(&self) -> Result {
        if self.0.with(|records| records.is_some()) {
            return Ok(());
        }
        self.make(wire::LOG_DEFAULT).map(|_| ())
    }

    /// Frees the log. No process maps it.
    pub(crate) fn free(&self) {
        drop(self.0.with(Option::take));
    }

    /// Empties the log if the user has read all of it ([`crate::wire::EKM_RESET`]).
    pub(crate) fn reset(&self, reset: &mut Reset) -> Result {
        self.0.with(|records| {
            let Some(records) = records else { return Ok(()) };
            let header = &mut records.header;
            let wanted = core::mem::replace(&mut reset.used, header.used);
            if wanted != wire::RESET_ALL && (wanted != header.used || header.lost != 0) {
                return Err(EAGAIN);
            }
            (header.used, header.records, header.lost) = (0, 0, 0);
            records.publish();
            Ok(())
        })
    }

    /// Empties the log.
    pub(crate) fn clear(&self) {
        let _ = self.reset(&mut Reset { used: wire::RESET_ALL });
    }

    /// Maps the log for reading. Must not overlap with [`Log::make`] or [`Log::free`].
    ///
    /// # Safety
    ///
    /// `vma` is the argument of the `mmap` file operation.
    pub(crate) unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result {
        let area = self
            .0
            .with(|records| records.as_ref().map(|records| core::ptr::from_ref(&records.area)));
        // SAFETY: The log is neither remade nor freed meanwhile, so the area exists. The rest is
        // the caller's promise. Mapping may sleep, so it cannot be done under the lock.
        unsafe { (*area.ok_or(EINVAL)?).map_read_only(vma) }
    }

    /// Appends a record with `bytes` of data, which `fill` writes to the given address. Returns
    /// true if there was room.
    ///
    /// `fill` runs with interrupts off and must write all of the data.
    pub(crate) fn append(&self, event: &Event, bytes: usize, fill: impl FnOnce(*mut u8)) -> bool {
        self.0.with(|records| {
            records.as_mut().is_some_and(|records| records.append(event, bytes, fill))
        })
    }
}

impl Records {
    /// Makes an empty log in an area of zeroes.
    fn new(area: Area, capacity: u64) -> Self {
        let header = LogHeader {
            magic: wire::LOG_MAGIC,
            version: wire::ABI_VERSION,
            record_header: HEADER as u32,
            capacity,
            ..Default::default()
        };
        let this = Self { area, header };
        // SAFETY: The area has at least a page, starts at a page boundary, and has no other user
        // yet.
        unsafe { this.area.base().cast::<LogHeader>().write(header) };
        this
    }

    /// Copies the counters to the mapped header. `used` is written last, after the records that it
    /// counts.
    fn publish(&self) {
        let shared = self.area.base().cast::<LogHeader>();
        // SAFETY: The header is in the area and aligned. Only this code writes it, and user space
        // only reads it.
        unsafe {
            AtomicU64::from_ptr(&raw mut (*shared).lost).store(self.header.lost, Ordering::Relaxed);
            AtomicU64::from_ptr(&raw mut (*shared).records)
                .store(self.header.records, Ordering::Relaxed);
            AtomicU64::from_ptr(&raw mut (*shared).used).store(self.header.used, Ordering::Release);
        }
    }

    /// Appends a record, like [`Log::append`].
    fn append(&mut self, event: &Event, bytes: usize, fill: impl FnOnce(*mut u8)) -> bool {
        let used = self.header.used;
        let whole = (HEADER as u64).saturating_add(bytes as u64);
        let next = used.saturating_add(whole).checked_next_multiple_of(8).unwrap_or(u64::MAX);
        let room = next <= self.header.capacity && u32::try_from(whole).is_ok();
        if room {
            // `at` is at most `capacity`, the area without the page of the header, so it does not
            // overflow.
            let at =
                self.area.base().wrapping_add(wire::LOG_DATA as usize).wrapping_add(used as usize);
            let header = RecordHeader {
                bytes: whole as u32,
                kind: event.kind,
                flags: event.flags,
                device: event.device,
                pid: kernel::current!().pid() as u32,
                sector: event.sector,
                len: event.len,
                request: event.request,
            };
            // SAFETY: From `at` on there is unused room for header and data, and `at` is a multiple
            // of 8.
            unsafe { at.cast::<RecordHeader>().write(header) };
            fill(at.wrapping_add(HEADER));
            self.header.used = next;
            self.header.records = self.header.records.wrapping_add(1);
        } else {
            self.header.lost = self.header.lost.wrapping_add(1);
        }
        self.publish();
        room
    }
}
