// SPDX-License-Identifier: GPL-2.0
//! The log: records one after the other in memory that the user maps.
//!
//! Invariants: one record is appended at a time, in full, before `used` and `records` of the header
//! count it; so a reader of the header sees whole records below `used`. Nothing that is
//! there is ever written over, but by [`Log::reset`]. Appending takes a spin lock with interrupts
//! off, so that it may be called from wherever a probe fires.

use core::mem::size_of;
use core::sync::atomic::{AtomicU64, Ordering};
use kernel::prelude::*;

use crate::bindings;
use crate::common::area::Area;
use crate::lock::IrqLock;
use crate::wire::{self, LogHeader, RecordHeader, Reset};

/// Bytes of a record's header.
const HEADER: usize = size_of::<RecordHeader>();

/// What happened, without its data.
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

/// The one log there is: probes have no other way to it.
pub(crate) static LOG: Log = Log(IrqLock::new(None));

/// The memory of a log, and how much of it is used.
struct Records {
    area: Area,
    header: LogHeader,
}

impl Log {
    /// Makes it anew with so many bytes for records, and says how many there were. `EBUSY` while it
    /// is mapped.
    ///
    /// One call at a time, and no [`Log::map`] meanwhile.
    pub(crate) fn make(&self, bytes: u64) -> Result<u64> {
        let before = self.0.with(|records| match records {
            Some(records) if records.area.is_mapped() => Err(EBUSY),
            Some(records) => Ok(records.header.capacity),
            None => Ok(0),
        })?;
        let total = bytes.checked_add(wire::LOG_DATA).and_then(|total| usize::try_from(total).ok());
        let records = Records::new(Area::new(total.ok_or(EINVAL)?)?, bytes);
        // The memory of the old one is freed here, without the lock.
        drop(self.0.with(|place| place.replace(records)));
        Ok(before)
    }

    /// Makes it unless it is there. One call at a time.
    pub(crate) fn require(&self) -> Result {
        if self.0.with(|records| records.is_some()) {
            return Ok(());
        }
        self.make(wire::LOG_DEFAULT).map(|_| ())
    }

    /// Frees it. No process maps it.
    pub(crate) fn free(&self) {
        drop(self.0.with(Option::take));
    }

    /// [`crate::wire::EKM_RESET`].
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

    /// Empties it, whatever is in it.
    pub(crate) fn clear(&self) {
        let _ = self.reset(&mut Reset { used: wire::RESET_ALL });
    }

    /// Maps it, for reading. Not while [`Log::make`] or [`Log::free`] run.
    ///
    /// # Safety
    ///
    /// `vma` is what the `mmap` file operation got.
    pub(crate) unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result {
        let area = self
            .0
            .with(|records| records.as_ref().map(|records| core::ptr::from_ref(&records.area)));
        // SAFETY: It is neither made anew nor freed meanwhile, so the area is there; the rest is
        // the caller's promise. Mapping may sleep, so it cannot be done under the lock.
        unsafe { (*area.ok_or(EINVAL)?).map_read_only(vma) }
    }

    /// Appends a record with `bytes` of data, which `fill` writes to where they belong. Says
    /// whether there was room.
    ///
    /// `fill` runs with interrupts off and must write all of it.
    pub(crate) fn append(&self, event: &Event, bytes: usize, fill: impl FnOnce(*mut u8)) -> bool {
        self.0.with(|records| {
            records.as_mut().is_some_and(|records| records.append(event, bytes, fill))
        })
    }
}

impl Records {
    /// An empty log in an area of zeroes.
    fn new(area: Area, capacity: u64) -> Self {
        let header = LogHeader {
            magic: wire::LOG_MAGIC,
            version: wire::ABI_VERSION,
            record_header: HEADER as u32,
            capacity,
            ..Default::default()
        };
        let this = Self { area, header };
        // SAFETY: The area has at least a page, its beginning is aligned to one, and it has no
        // other user yet.
        unsafe { this.area.base().cast::<LogHeader>().write(header) };
        this
    }

    /// Brings the counters to the mapped header: the last one is `used`, with what it counts before
    /// it.
    fn publish(&self) {
        let shared = self.area.base().cast::<LogHeader>();
        // SAFETY: The header is in the area, aligned; only this writes it, and user space only
        // reads.
        unsafe {
            AtomicU64::from_ptr(&raw mut (*shared).lost).store(self.header.lost, Ordering::Relaxed);
            AtomicU64::from_ptr(&raw mut (*shared).records)
                .store(self.header.records, Ordering::Relaxed);
            AtomicU64::from_ptr(&raw mut (*shared).used).store(self.header.used, Ordering::Release);
        }
    }

    /// As [`Log::append`].
    fn append(&mut self, event: &Event, bytes: usize, fill: impl FnOnce(*mut u8)) -> bool {
        let used = self.header.used;
        let whole = (HEADER as u64).saturating_add(bytes as u64);
        let next = used.saturating_add(whole).checked_next_multiple_of(8).unwrap_or(u64::MAX);
        let room = next <= self.header.capacity && u32::try_from(whole).is_ok();
        if room {
            // At most `capacity`, which is the area without the header's page: no overflow.
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
            // SAFETY: From `at` on there is room for header and data, unused so far, and `at` is a
            // multiple of 8.
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
