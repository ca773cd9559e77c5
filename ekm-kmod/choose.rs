// SPDX-License-Identifier: GPL-2.0
//! `ekm_choose(n)` for other modules (EX-11). `include/explode.h` describes the function.
//!
//! The `kernel` crate cannot export a symbol. The assembly below is the expansion of
//! `EXPORT_SYMBOL_GPL` in an assembler source (include/linux/export.h). modpost does the rest.

use core::arch::global_asm;

use crate::choices;

// Passes the caller's registers on: its return address, its stack pointer and its frame pointer.
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

/// The target of `ekm_choose`.
///
/// # Safety
///
/// Only `ekm_choose` calls it.
#[no_mangle]
unsafe extern "C" fn ekm_choose_of(options: u32, ip: u64, sp: u64, bp: u64) -> u32 {
    // SAFETY: The pointers are those of the caller, in this thread.
    unsafe { choices::of_module(options, ip, sp, bp) }
}
