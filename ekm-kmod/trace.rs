// SPDX-License-Identifier: GPL-2.0
//! Tracepoints of the block layer: buffers that become dirty, requests, and completions.
//!
//! | tracepoint | record |
//! |---|---|
//! | `block_dirty_buffer` | DIRTY: `mark_buffer_dirty`, also of a buffer that is dirty already |
//! | `block_bio_queue` | SUBMIT: `submit_bio` |
//! | `block_bio_remap` | SUBMIT of a bio that md raid0 or linear passes on to a member, because it is queued only once |
//! | `block_bio_complete` | COMPLETE: `bio_endio` |
//!
//! Probes run with preemption off, often under spin locks of a file system. They only copy.

use core::ptr;
use kernel::{ffi::c_void, prelude::*};

use crate::bindings::{self, bio, buffer_head, request_queue, tracepoint};
use crate::common::bio as bios;
use crate::log::{Event, LOG};
use crate::watch::WATCHES;
use crate::{buffer, wire};

/// The tracepoints and their probes. A probe takes the data pointer and then the tracepoint's
/// arguments.
const PROBES: [(&CStr, *const c_void); 4] = [
    (
        kernel::c_str!("block_dirty_buffer"),
        dirty_buffer as unsafe extern "C" fn(_, _) as *const c_void,
    ),
    (kernel::c_str!("block_bio_queue"), bio_queue as unsafe extern "C" fn(_, _) as *const c_void),
    (
        kernel::c_str!("block_bio_remap"),
        bio_remap as unsafe extern "C" fn(_, _, _, _) as *const c_void,
    ),
    (
        kernel::c_str!("block_bio_complete"),
        bio_complete as unsafe extern "C" fn(_, _, _) as *const c_void,
    ),
];

/// Registered probes. A drop unregisters them.
pub(crate) struct Tracepoints {
    registered: [*mut tracepoint; PROBES.len()],
}

// SAFETY: Tracepoints of the kernel image are never freed. The kernel's own lock protects
// registration.
unsafe impl Send for Tracepoints {}
// SAFETY: As above.
unsafe impl Sync for Tracepoints {}

impl Tracepoints {
    /// Registers all probes (`tracepoint_probe_register`). `ENOENT` if the kernel lacks a
    /// tracepoint.
    pub(crate) fn register() -> Result<Self> {
        let mut this = Self { registered: [ptr::null_mut(); PROBES.len()] };
        for (slot, (name, probe)) in this.registered.iter_mut().zip(PROBES) {
            let tracepoint = find(name).inspect_err(|_| pr_err!("no tracepoint {name}\n"))?;
            // SAFETY: The probe takes the tracepoint's arguments and stays until `drop`.
            let result = unsafe {
                bindings::tracepoint_probe_register(tracepoint, probe.cast_mut(), ptr::null_mut())
            };
            kernel::error::to_result(result)?;
            *slot = tracepoint;
        }
        Ok(this)
    }
}

impl Drop for Tracepoints {
    fn drop(&mut self) {
        for (tracepoint, (_, probe)) in self.registered.into_iter().zip(PROBES) {
            if !tracepoint.is_null() {
                // SAFETY: It was registered with these arguments.
                unsafe {
                    bindings::tracepoint_probe_unregister(
                        tracepoint,
                        probe.cast_mut(),
                        ptr::null_mut(),
                    );
                }
            }
        }
        // SAFETY: `tracepoint_synchronize_unregister`: after these calls no probe of this module
        // runs, so its code may be freed.
        unsafe {
            bindings::synchronize_srcu(&raw mut bindings::tracepoint_srcu);
            bindings::synchronize_rcu();
        }
    }
}

/// Returns the tracepoint with a name. Most are not exported, so all are searched.
fn find(name: &CStr) -> Result<*mut tracepoint> {
    struct Search<'a> {
        name: &'a CStr,
        found: *mut tracepoint,
    }
    unsafe extern "C" fn visit(tracepoint: *mut tracepoint, search: *mut c_void) {
        // SAFETY: `search` is the pointer that was passed to `for_each_kernel_tracepoint`. Names
        // end with a zero byte.
        unsafe {
            let search = &mut *search.cast::<Search<'_>>();
            if CStr::from_char_ptr((*tracepoint).name).as_bytes() == search.name.as_bytes() {
                search.found = tracepoint;
            }
        }
    }
    let mut search = Search { name, found: ptr::null_mut() };
    // SAFETY: `visit` uses the pointer to `search` only during the call.
    unsafe { bindings::for_each_kernel_tracepoint(Some(visit), (&raw mut search).cast()) };
    if search.found.is_null() {
        Err(ENOENT)
    } else {
        Ok(search.found)
    }
}

unsafe extern "C" fn dirty_buffer(_: *mut c_void, dirty: *mut buffer_head) {
    // SAFETY: The tracepoint's argument is a valid buffer. Its folio exists and its contents are
    // `len` bytes long.
    unsafe {
        let Some(device) = WATCHES.recorded((*dirty).b_bdev, wire::WATCH_BUFFERS) else { return };
        let Some(block) = buffer::block(dirty) else { return };
        let event = Event {
            kind: wire::KIND_DIRTY,
            device,
            sector: block.sector,
            len: block.len as u64,
            ..Default::default()
        };
        LOG.append(&event, block.len, |to| to.copy_from_nonoverlapping(block.data, block.len));
    }
}

unsafe extern "C" fn bio_queue(_: *mut c_void, bio: *mut bio) {
    // SAFETY: The tracepoint's argument is a valid bio.
    unsafe { submit(bio) }
}

unsafe extern "C" fn bio_remap(
    _: *mut c_void,
    bio: *mut bio,
    _: bindings::dev_t,
    _: bindings::sector_t,
) {
    // SAFETY: The tracepoint's argument is a valid bio. If it was not queued yet, it is logged when
    // it is queued.
    unsafe {
        if (*bio).bi_flags & (1 << bindings::BIO_TRACE_COMPLETION) != 0 {
            submit(bio);
        }
    }
}

/// Returns the flags of a request's record, and true if it carries data. `None` for reads and other
/// requests that are not logged.
///
/// # Safety
///
/// `bio` is valid.
unsafe fn describe(bio: *const bio) -> Option<(u16, bool)> {
    // SAFETY: The caller's promise.
    let (op, opf) = unsafe { (bios::op(bio), (*bio).bi_opf) };
    let (flags, data) = match op {
        bindings::req_op_REQ_OP_WRITE => (0, true),
        bindings::req_op_REQ_OP_FLUSH => (wire::FLAG_PREFLUSH, false),
        bindings::req_op_REQ_OP_WRITE_ZEROES => (wire::FLAG_ZEROES, false),
        bindings::req_op_REQ_OP_DISCARD | bindings::req_op_REQ_OP_SECURE_ERASE => {
            (wire::FLAG_DISCARD, false)
        }
        _ => return None,
    };
    let fua = if opf & bindings::K_REQ_FUA != 0 { wire::FLAG_FUA } else { 0 };
    let preflush = if opf & bindings::K_REQ_PREFLUSH != 0 { wire::FLAG_PREFLUSH } else { 0 };
    Some((flags | fua | preflush, data))
}

/// Logs a request.
///
/// # Safety
///
/// `bio` is valid.
unsafe fn submit(bio: *const bio) {
    // SAFETY: The caller's promise. `bi_iter` is packed, so it is read as a value.
    unsafe {
        let Some(device) = WATCHES.recorded((*bio).bi_bdev, wire::WATCH_REQUESTS) else { return };
        let Some((flags, data)) = describe(bio) else { return };
        let iter = (*bio).bi_iter;
        let bytes = if data { iter.bi_size as usize } else { 0 };
        let event = Event {
            kind: wire::KIND_SUBMIT,
            flags,
            device,
            sector: iter.bi_sector,
            len: iter.bi_size.into(),
            request: bio as u64,
        };
        LOG.append(&event, bytes, |mut to| {
            if bytes != 0 {
                for (piece, len) in bios::pieces(bio) {
                    to.copy_from_nonoverlapping(piece, len);
                    to = to.wrapping_add(len);
                }
            }
        });
    }
}

unsafe extern "C" fn bio_complete(_: *mut c_void, _: *mut request_queue, bio: *mut bio) {
    // SAFETY: The tracepoint's argument is a valid bio that has ended. Its owner does not have it
    // back yet.
    unsafe {
        let Some(device) = WATCHES.recorded((*bio).bi_bdev, wire::WATCH_REQUESTS) else { return };
        if describe(bio).is_none() {
            return;
        }
        let flags = if (*bio).bi_status == bindings::K_BLK_STS_OK { 0 } else { wire::FLAG_ERROR };
        let kind = wire::KIND_COMPLETE;
        let event = Event { kind, flags, device, request: bio as u64, ..Default::default() };
        LOG.append(&event, 0, |_| {});
    }
}
