// SPDX-License-Identifier: GPL-2.0
//! Functions that may fail (EX-14). Each is a choice when it is entered. If it must fail, the
//! handler returns in its place.
//!
//! | kind | function | fails with |
//! |---|---|---|
//! | `FAIL_SLAB` | `should_failslab`, which every slab allocation calls | `-ENOMEM` |
//! | `FAIL_PAGE` | `should_fail_alloc_page`, which every page allocation calls | true |
//! | `FAIL_COPY` | `fault_in_iov_iter_readable`, before a write copies | all bytes left |
//! | `FAIL_BUFFER` | `__bread_gfp`, if the block is not in the cache | null |
//! | | `ext4_read_bh`, through its argument for simulated failures | `-EIO` |
//! | `FAIL_CACHE` | `filemap_read_folio`, which `read_cache_folio` and read(2) call for a folio that is not in the cache | `-EIO` |
//! | `FAIL_REQUEST` | `should_fail_bio` of a watched device | `-EIO` |
//! | `LATE` | `rdd_ends_late` of a watched disk | true: the write is done and completes late |

use kernel::{c_str, ffi, prelude::*};

use crate::bindings::{self, bio, block_device, buffer_head, file, folio, kprobe, pt_regs};
use crate::choices::CHOICES;
use crate::kprobe::{answer, Handler, Kprobes};
use crate::watch::WATCHES;
use crate::wire::{
    Kinds, FAIL_BUFFER, FAIL_CACHE, FAIL_COPY, FAIL_MODULE, FAIL_PAGE, FAIL_PROBE, FAIL_REQUEST,
    FAIL_SLAB, LATE, NO_DEVICE, WATCH_REQUESTS,
};

/// A function that may fail.
struct Failing {
    kind: u32,
    symbol: &'static CStr,
    handler: Handler,
    /// True if the handler takes locks. It must not run in a breakpoint, which is like an NMI.
    takes_locks: bool,
}

impl Failing {
    const fn new(kind: u32, symbol: &'static CStr, handler: Handler) -> Failing {
        Failing { kind, symbol, handler, takes_locks: false }
    }

    const fn takes_locks(self) -> Failing {
        Failing { takes_locks: true, ..self }
    }
}

/// All functions that may fail. A kernel without one of them has fewer choices.
const ALL: [Failing; 8] = [
    Failing::new(FAIL_SLAB, c_str!("should_failslab"), slab),
    Failing::new(FAIL_PAGE, c_str!("should_fail_alloc_page"), page),
    Failing::new(FAIL_COPY, c_str!("fault_in_iov_iter_readable"), copy),
    Failing::new(FAIL_BUFFER, c_str!("__bread_gfp"), bread).takes_locks(),
    Failing::new(FAIL_BUFFER, c_str!("ext4_read_bh"), ext4_read),
    Failing::new(FAIL_CACHE, c_str!("filemap_read_folio"), read_folio),
    Failing::new(FAIL_REQUEST, c_str!("should_fail_bio"), request),
    Failing::new(LATE, c_str!("rdd_ends_late"), late),
];

/// Probes the functions of these kinds. Stores the kinds that this kernel has in `kinds`.
pub(crate) fn register(kinds: &mut Kinds) -> Result<Kprobes> {
    let mut probes = Kprobes::none();
    // These kinds need no function that this kernel may lack.
    let (mut there, mut untraced) = (kinds.kinds & (FAIL_MODULE | FAIL_PROBE), 0);
    for Failing { kind, symbol, handler, takes_locks } in &ALL {
        if kinds.kinds & kind == 0 {
            continue;
        }
        match probes.add(symbol, *handler, 0) {
            Ok(traced) if traced || !takes_locks => there |= kind,
            Ok(_) => untraced |= kind,
            Err(error) if error == ENOENT => {}
            Err(error) => {
                pr_err!("cannot probe {}: {}\n", symbol, error.to_errno());
                return Err(error);
            }
        }
    }
    *kinds = Kinds { kinds: there & !untraced, untraced };
    Ok(probes)
}

const NO_MEMORY: i64 = -(kernel::bindings::ENOMEM as i64);
const IO_ERROR: i64 = -(kernel::bindings::EIO as i64);

/// Makes the probed function return `value` if the choice is that it fails.
///
/// # Safety
///
/// `regs` is the argument of a handler, and the handler returns the result of this function. If the
/// probed function returns `value`, its caller relies on no other effect of it.
pub(crate) unsafe fn ask(regs: *mut pt_regs, kind: u32, device: u32, value: i64) -> ffi::c_int {
    // SAFETY: The caller's promise.
    unsafe {
        if CHOICES.fails(regs, kind, device) {
            answer(regs, value as u64)
        } else {
            0
        }
    }
}

/// Probes `int (struct kmem_cache *, gfp_t)`.
unsafe extern "C" fn slab(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers. The function only returns whether the allocation fails.
    unsafe {
        if (*regs).si as u32 & bindings::K_GFP_NOFAIL != 0 {
            return 0;
        }
        ask(regs, FAIL_SLAB, NO_DEVICE, NO_MEMORY)
    }
}

/// Probes `bool (gfp_t, unsigned int)`.
unsafe extern "C" fn page(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As above.
    unsafe {
        if (*regs).di as u32 & bindings::K_GFP_NOFAIL != 0 {
            return 0;
        }
        ask(regs, FAIL_PAGE, NO_DEVICE, 1)
    }
}

/// Probes `size_t (const struct iov_iter *, size_t)`, which returns the number of bytes that cannot
/// be read.
unsafe extern "C" fn copy(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers. The function only touches user memory.
    unsafe { ask(regs, FAIL_COPY, NO_DEVICE, (*regs).si as i64) }
}

/// Probes `struct buffer_head *(struct block_device *, sector_t, unsigned, gfp_t)`.
unsafe extern "C" fn bread(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers. Without the function there is no buffer to release.
    unsafe {
        let device = (*regs).di as *mut block_device;
        if !CHOICES.may_fail(FAIL_BUFFER) || is_cached(device, (*regs).si as u64, (*regs).dx as u32)
        {
            return 0;
        }
        ask(regs, FAIL_BUFFER, number(device), 0)
    }
}

/// Returns true if the block is in the buffer cache, so that nothing is read. (`__find_get_block`,
/// which takes only spin locks.)
///
/// # Safety
///
/// `device` is valid, and the caller holds no lock of its buffer cache.
unsafe fn is_cached(device: *mut block_device, block: u64, bytes: u32) -> bool {
    // SAFETY: The caller's promise. The returned reference is released.
    unsafe {
        let head = bindings::__find_get_block(device, block, bytes);
        if head.is_null() {
            return false;
        }
        let is_cached = is_uptodate(head);
        bindings::__brelse(head);
        is_cached
    }
}

/// Returns true if the buffer has been read.
///
/// # Safety
///
/// `head` is valid.
unsafe fn is_uptodate(head: *const buffer_head) -> bool {
    // SAFETY: The caller's promise.
    unsafe { (*head).b_state & (1 << bindings::bh_state_bits_BH_Uptodate) != 0 }
}

/// Probes `int (struct buffer_head *, blk_opf_t, bh_end_io_t *, bool simu_fail)`. The buffer is
/// locked, and the function unlocks it.
unsafe extern "C" fn ext4_read(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers. The buffer is valid and locked.
    unsafe {
        let head = (*regs).di as *const buffer_head;
        if !is_uptodate(head) && CHOICES.fails(regs, FAIL_BUFFER, number((*head).b_bdev)) {
            (*regs).cx = 1;
        }
    }
    0
}

/// Probes `int (struct file *, filler_t *, struct folio *)`. The folio is locked, and the filler
/// unlocks it.
unsafe extern "C" fn read_folio(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers. The failing filler does the same as any filler that cannot
    // read.
    unsafe {
        if CHOICES.fails(regs, FAIL_CACHE, NO_DEVICE) {
            (*regs).si = unreadable as usize as _;
        }
    }
    0
}

/// A filler that cannot read. It runs in place of the real one, after the handler.
unsafe extern "C" fn unreadable(_: *mut file, folio: *mut folio) -> ffi::c_int {
    // SAFETY: `filemap_read_folio` calls it with a locked folio.
    unsafe { bindings::folio_unlock(folio) };
    IO_ERROR as ffi::c_int
}

/// Probes `int (struct bio *)`.
unsafe extern "C" fn request(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers. The function only returns whether the request fails.
    unsafe { ask_of_bio(regs, FAIL_REQUEST, IO_ERROR) }
}

/// Probes `int (struct bio *)`.
unsafe extern "C" fn late(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's registers. The function only decides when the bio completes.
    unsafe { ask_of_bio(regs, LATE, 1) }
}

/// Calls [`ask`] for a function whose first argument is a bio, if the bio's device is watched.
///
/// # Safety
///
/// Those of `ask`, and the bio is valid.
unsafe fn ask_of_bio(regs: *mut pt_regs, kind: u32, value: i64) -> ffi::c_int {
    // SAFETY: The caller's promise.
    unsafe {
        if !CHOICES.may_fail(kind) {
            return 0;
        }
        match WATCHES.recorded((*((*regs).di as *const bio)).bi_bdev, WATCH_REQUESTS) {
            Some(device) => ask(regs, kind, device, value),
            None => 0,
        }
    }
}

/// Returns the number of a watched device in the log, or [`NO_DEVICE`].
///
/// # Safety
///
/// `device` is valid, or null.
unsafe fn number(device: *const block_device) -> u32 {
    // SAFETY: The caller's promise.
    unsafe { WATCHES.recorded(device, WATCH_REQUESTS) }.unwrap_or(NO_DEVICE)
}
