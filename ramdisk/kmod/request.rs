// SPDX-License-Identifier: GPL-2.0
//! The processing of bios. The thread that submits a bio processes it at once, and completes it
//! unless the disk holds its completion back.

use kernel::ffi::c_int;

use crate::bindings;
use crate::common::bio;
use crate::disk::{disk_of, Disk, Operations, State};
use crate::fault::Meets;
use crate::wire::{BLOCK, SECTOR};

/// The effect of a request on its range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Read,
    Write,
    Zero,
}

/// The functions that the block layer calls for all disks.
pub(crate) static OPERATIONS: Operations = Operations(bindings::block_device_operations {
    owner: crate::THIS_MODULE.as_ptr().cast(),
    submit_bio: Some(submit_bio),
    open: Some(open),
    ..NO_OPERATIONS
});

// SAFETY: All members are pointers, optional functions or a flag, and zero is a valid value of
// each.
const NO_OPERATIONS: bindings::block_device_operations = unsafe { core::mem::zeroed() };

/// Serves a bio and completes it, or holds it back (`block_device_operations.submit_bio`).
unsafe extern "C" fn submit_bio(bio: *mut bindings::bio) {
    // SAFETY: The block layer passes valid bios of an existing disk. `private_data` is that disk,
    // which is dropped only after `del_gendisk`.
    unsafe {
        let disk = disk_of(bio);
        let changes = bio::op(bio) != bindings::req_op_REQ_OP_READ && (*bio).bi_iter.bi_size != 0;
        (*bio).bi_status = serve(disk, bio);
        if !changes || !disk.held().hold(disk, bio) {
            bindings::bio_endio(bio);
        }
    }
}

/// Lets a disk be opened (`block_device_operations.open`). Returns `ENXIO` if the disk is being
/// removed. The caller holds the disk's `open_mutex`.
unsafe extern "C" fn open(gendisk: *mut bindings::gendisk, _: bindings::blk_mode_t) -> c_int {
    // SAFETY: As above.
    let disk = unsafe { &*(*gendisk).private_data.cast::<Disk>() };
    if disk.is_leaving() {
        kernel::error::code::ENXIO.to_errno()
    } else {
        0
    }
}

/// Serves a bio, and returns its status.
///
/// # Safety
///
/// `bio` is valid. If it is of a kind that has data, it has its data.
unsafe fn serve(disk: &Disk, bio: *mut bindings::bio) -> bindings::blk_status_t {
    // SAFETY: The caller's promise, here and below. `bi_iter` is packed: read as a value.
    let (op, iter) = unsafe { (bio::op(bio), (*bio).bi_iter) };
    let action = match op {
        bindings::req_op_REQ_OP_READ => Action::Read,
        bindings::req_op_REQ_OP_WRITE => Action::Write,
        bindings::req_op_REQ_OP_FLUSH => return flush(disk),
        bindings::req_op_REQ_OP_DISCARD
        | bindings::req_op_REQ_OP_SECURE_ERASE
        | bindings::req_op_REQ_OP_WRITE_ZEROES => Action::Zero,
        _ => return bindings::K_BLK_STS_NOTSUPP,
    };
    let bytes = u64::from(iter.bi_size);
    if bytes == 0 {
        // A flush without data arrives as an empty write with REQ_PREFLUSH.
        return flush(disk);
    }
    let offset = iter.bi_sector.saturating_mul(SECTOR);
    let Some(memory) = disk.range(offset, bytes) else { return bindings::K_BLK_STS_IOERR };

    let mut state = disk.state().lock();
    let meets = state.faults.meet(action == Action::Read, iter.bi_sector, bytes.div_ceil(SECTOR));
    if meets == Meets::Error {
        return bindings::K_BLK_STS_IOERR;
    }
    // SAFETY: `memory` is `bytes` long, the total length of the pieces of a bio with data.
    unsafe {
        match action {
            Action::Read => read(bio, memory, offset, (meets == Meets::Garbage).then_some(&state)),
            Action::Write => write(bio, memory),
            Action::Zero => memory.write_bytes(0, bytes as usize),
        }
    }
    if action != Action::Read {
        state.faults.heal(iter.bi_sector, bytes.div_ceil(SECTOR));
    }
    let first = offset / BLOCK;
    let last = offset.saturating_add(bytes).saturating_sub(1) / BLOCK;
    let list = if action == Action::Read { &mut state.read } else { &mut state.changed };
    // The disk has at most 2^32 blocks (`Disk::new`), and the range is inside.
    list.touch(first as u32, last as u32);
    bindings::K_BLK_STS_OK
}

/// Serves a flush without data, and returns its status.
fn flush(disk: &Disk) -> bindings::blk_status_t {
    if disk.state().lock().faults.is_gone() {
        bindings::K_BLK_STS_IOERR
    } else {
        bindings::K_BLK_STS_OK
    }
}

/// Copies from the disk to the memory of the bio. With `garbage`, faults then overwrite the copy.
///
/// The addresses do not overlap: those of a bio are in the direct map, and those of the disk are in
/// the vmalloc area. The pages behind them may be the same if user space has mapped the disk and
/// uses that memory for direct I/O. The result then depends on the order of copying.
///
/// # Safety
///
/// `bio` has data, and `memory` has the same length.
unsafe fn read(bio: *const bindings::bio, memory: *mut u8, offset: u64, garbage: Option<&State>) {
    let mut done = 0usize;
    // SAFETY: The caller's promise.
    for (piece, len) in unsafe { bio::pieces(bio) } {
        // SAFETY: `len` bytes of the bio, whose owner waits for it, and the same number of bytes of
        // the disk.
        let bytes = unsafe {
            memory.wrapping_add(done).copy_to_nonoverlapping(piece, len);
            core::slice::from_raw_parts_mut(piece, len)
        };
        if let Some(state) = garbage {
            state.faults.spoil(offset.wrapping_add(done as u64), bytes);
        }
        done = done.wrapping_add(len);
    }
}

/// Copies from the memory of the bio to the disk. For overlaps see `read`.
///
/// # Safety
///
/// `bio` has data, and `memory` has the same length.
unsafe fn write(bio: *const bindings::bio, memory: *mut u8) {
    let mut done = 0usize;
    // SAFETY: The caller's promise.
    for (piece, len) in unsafe { bio::pieces(bio) } {
        // SAFETY: `len` bytes of the bio, and the same number of bytes of the disk.
        unsafe { memory.wrapping_add(done).copy_from_nonoverlapping(piece, len) };
        done = done.wrapping_add(len);
    }
}
