// SPDX-License-Identifier: GPL-2.0
//! `ekm_check_crashes(name)` for other modules (EX-66). A request for crash checks becomes a record
//! at its place in the log. `include/explode.h` describes the function.
//!
//! The export is like that of `ekm_choose` (`choose`).

use core::arch::global_asm;

use crate::log::{Event, LOG};
use crate::watch::WATCHES;
use crate::wire::{ASKED_MAX, KIND_ASKED, NO_DEVICE};

// The return address of the call identifies the caller.
global_asm!(
    ".pushsection .text",
    ".balign 16",
    ".globl ekm_check_crashes",
    ".type ekm_check_crashes, @function",
    "ekm_check_crashes:",
    "endbr64",
    "mov rsi, qword ptr [rsp]",
    "jmp ekm_check_crashes_of",
    "int3",
    ".size ekm_check_crashes, . - ekm_check_crashes",
    ".popsection",
    ".pushsection .export_symbol, \"a\"",
    "__export_symbol_ekm_check_crashes:",
    ".asciz \"GPL\"",
    ".asciz \"\"",
    ".balign 8",
    ".quad ekm_check_crashes",
    ".popsection",
);

/// The target of `ekm_check_crashes`. `ip` is the return address of the call.
///
/// A name that is too long is cut to one byte more than the limit. Null is an empty name. The user
/// rejects both.
///
/// # Safety
///
/// `name` is null or ends with a zero byte. Not called in an NMI.
#[no_mangle]
unsafe extern "C" fn ekm_check_crashes_of(name: *const u8, ip: u64) {
    let mut len = 0usize;
    // SAFETY: No byte after the zero is read.
    while !name.is_null() && len <= ASKED_MAX && unsafe { name.wrapping_add(len).read() } != 0 {
        len = len.wrapping_add(1);
    }
    let name = if len == 0 {
        &[][..]
    } else {
        // SAFETY: `len` bytes are there and were just read.
        unsafe { core::slice::from_raw_parts(name, len) }
    };
    ask(name, 0, ip);
}

/// Logs a request for crash checks if the log records.
pub(crate) fn ask(name: &[u8], flags: u16, ip: u64) {
    if !WATCHES.is_recording() {
        return;
    }
    let len = name.len() as u64;
    let event = Event {
        kind: KIND_ASKED,
        flags,
        device: NO_DEVICE,
        len,
        request: ip,
        ..Default::default()
    };
    // SAFETY: The log reserves `name.len()` bytes, which do not overlap the name.
    let fill = |to: *mut u8| unsafe { to.copy_from_nonoverlapping(name.as_ptr(), name.len()) };
    LOG.append(&event, name.len(), fill);
}
