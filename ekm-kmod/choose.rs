// SPDX-License-Identifier: GPL-2.0
//! `ekm_choose(n)`, for other modules (EX-11; `include/explode.h` says what it does).
//!
//! The `kernel` crate has nothing to export a symbol with. This is what `EXPORT_SYMBOL_GPL` makes
//! of it in a source of the assembler (include/linux/export.h); modpost does the rest.

use core::arch::global_asm;

use crate::choices;

// The registers of a caller are its own: where it goes on, its stack, its frame.
global_asm!(
    ".pushsection .text",
    ".balign 16",
    ".globl ekm_choose",
    ".type ekm_choose, @function",
    "ekm_choose:",
    "endbr64",
    "mov rsi, qword ptr [rsp]",
    "lea rdx, [rsp + 8]",
    "mov rcx, rbp",
    "jmp ekm_choose_of",
    "int3",
    ".size ekm_choose, . - ekm_choose",
    ".popsection",
    ".pushsection .export_symbol, \"a\"",
    "__export_symbol_ekm_choose:",
    ".asciz \"GPL\"",
    ".asciz \"\"",
    ".balign 8",
    ".quad ekm_choose",
    ".popsection",
);

/// What `ekm_choose` goes on to.
///
/// # Safety
///
/// Only that calls it.
#[no_mangle]
unsafe extern "C" fn ekm_choose_of(options: u32, ip: u64, sp: u64, bp: u64) -> u32 {
    // SAFETY: They are the caller's, in this thread.
    unsafe { choices::of_module(options, ip, sp, bp) }
}
