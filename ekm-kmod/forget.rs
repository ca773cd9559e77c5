// SPDX-License-Identifier: GPL-2.0
//! FORGET records: buffers whose changes are forgotten before they are written.
//!
//! In 6.12 the following places clear a buffer's dirty bit without submitting the buffer:
//!
//! | place | probed |
//! |---|---|
//! | `__bforget` (also by `ext4_forget`, jbd2's revoke, minix) | itself |
//! | `discard_buffer` (inlined; truncation, `kill_bdev`) | `block_invalidate_folio` |
//! | `clean_bdev_aliases` (blocks newly allocated to a file) | itself |
//! | jbd2 takes over a buffer that waits for its checkpoint (`do_get_write_access`) | `jbd2_journal_get_write_access` |
//! | jbd2 takes over a new buffer | `jbd2_journal_get_create_access` |
//! | jbd2 forgets a buffer | `jbd2_journal_forget` |
//! | `__jbd2_journal_file_buffer`, `journal_unmap_buffer` (data=journal) | not probed |
//! | blocks beyond the end of a file that write-back omits: `__block_write_full_folio`, `ext4_bio_write_folio` | not probed |
//! | recovery from write errors: `__block_write_full_folio`, `ext4_handle_error`'s superblock | not probed |
//! | `try_to_free_buffers` of a dirty folio with clean buffers | not needed: no buffer is dirty |
//!
//! The user finds changes at places that are not probed, and concurrent changes by another
//! processor, by a comparison with the result of `EKM_BUFFERS`. The same applies to buffers that
//! become dirty without `mark_buffer_dirty`: folios that are dirtied as a whole
//! (`block_dirty_folio`: stores through a mapping of a file after its first fault), and jbd2's own
//! descriptor blocks, which are submitted at once.

use kernel::{c_str, ffi};

use crate::bindings::{self, block_device, buffer_head, folio, kprobe, pt_regs};
use crate::kprobe::Probe;
use crate::log::{Event, LOG};
use crate::watch::WATCHES;
use crate::{buffer, pages, wire};

/// The probes to register.
pub(crate) const PROBES: [Probe; 6] = [
    Probe { symbol: c_str!("__bforget"), handler: first_argument, required: true },
    Probe { symbol: c_str!("block_invalidate_folio"), handler: invalidate_folio, required: true },
    Probe { symbol: c_str!("clean_bdev_aliases"), handler: clean_aliases, required: true },
    Probe {
        symbol: c_str!("jbd2_journal_get_write_access"),
        handler: second_argument,
        required: false,
    },
    Probe {
        symbol: c_str!("jbd2_journal_get_create_access"),
        handler: second_argument,
        required: false,
    },
    Probe { symbol: c_str!("jbd2_journal_forget"), handler: second_argument, required: false },
];

/// Logs that a range is forgotten.
fn log(device: u32, block: buffer::Block) {
    let event = Event {
        kind: wire::KIND_FORGET,
        device,
        sector: block.sector,
        len: block.len as u64,
        ..Default::default()
    };
    LOG.append(&event, 0, |_| {});
}

/// Logs that a buffer is forgotten, if it is dirty and watched.
///
/// # Safety
///
/// `head` is valid, or null.
unsafe fn forget(head: *const buffer_head) {
    // SAFETY: The caller's promise.
    unsafe {
        if head.is_null() || !buffer::is_dirty(head) {
            return;
        }
        let Some(device) = WATCHES.recorded((*head).b_bdev, wire::WATCH_BUFFERS) else { return };
        if let Some(block) = buffer::block(head) {
            log(device, block);
        }
    }
}

/// `void __bforget(struct buffer_head *)`.
unsafe extern "C" fn first_argument(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The probed function's argument.
    unsafe { forget((*regs).di as *const buffer_head) };
    0
}

/// Probes `int jbd2_journal_...(handle_t *, struct buffer_head *)`.
unsafe extern "C" fn second_argument(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The probed function's argument.
    unsafe { forget((*regs).si as *const buffer_head) };
    0
}

/// Probes `void block_invalidate_folio(struct folio *, size_t offset, size_t length)`, for the
/// buffers that lie completely in the range.
unsafe extern "C" fn invalidate_folio(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    if !WATCHES.is_recording() {
        return 0;
    }
    // SAFETY: The probed function's arguments. The caller holds the folio's lock, and its private
    // data is buffers.
    unsafe {
        let (folio, offset, length) =
            ((*regs).di as *const folio, (*regs).si as u64, (*regs).dx as u64);
        let stop = offset.saturating_add(length);
        let mut start = 0u64;
        pages::each_buffer(folio, |head| {
            let end = start.saturating_add((*head).b_size as u64);
            if end > stop {
                return false;
            }
            if offset <= start {
                forget(head);
            }
            start = end;
            true
        });
    }
    0
}

/// Probes `void clean_bdev_aliases(struct block_device *, sector_t block, sector_t len)`, for the
/// device's own buffers in the range.
unsafe extern "C" fn clean_aliases(_: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The probed function's arguments. The function sleeps, so its caller holds no spin
    // lock.
    unsafe {
        let bdev = (*regs).di as *const block_device;
        let Some(device) = WATCHES.recorded(bdev, wire::WATCH_BUFFERS) else { return 0 };
        let mapping = (*bdev).bd_mapping;
        let bits = u32::from((*(*mapping).host).i_blkbits);
        let Some(from) = ((*regs).si as u64).checked_shl(bits) else { return 0 };
        let Some(bytes) = ((*regs).dx as u64).checked_shl(bits) else { return 0 };
        let to = from.saturating_add(bytes);
        let page = |byte: u64| (byte / bindings::K_PAGE_SIZE as u64) as usize;
        let pages = page(from)..=page(to.saturating_sub(1));
        pages::each_dirty(mapping, pages, &mut |block| {
            let start = block.sector.saturating_mul(wire::SECTOR);
            if (from..to).contains(&start) {
                log(device, block);
            }
        });
    }
    0
}
