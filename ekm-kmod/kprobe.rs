// SPDX-License-Identifier: GPL-2.0
//! Kprobes: handlers at the beginning of kernel functions, which may look on, or answer in the function's place.
//!
//! They are registered once, and armed by flags of their own: registering one takes longer than a whole test case.
//! Handlers run with preemption off and must not call a function that is probed.

use core::arch::global_asm;
use core::ptr;
use kernel::{ffi, prelude::*};

use crate::bindings::{self, kprobe, pt_regs};

/// What runs when the function is entered: 0 lets it go on, what [`answer`] gives ends it.
pub(crate) type Handler = unsafe extern "C" fn(*mut kprobe, *mut pt_regs) -> ffi::c_int;

/// A function and its handler.
pub(crate) struct Probe {
    pub(crate) symbol: &'static CStr,
    pub(crate) handler: Handler,
    /// Whether the module cannot do without it. Else a kernel without that function is good as well.
    pub(crate) required: bool,
}

/// Registered probes, as long as this is there.
pub(crate) struct Kprobes(KVec<*mut kprobe>);

// SAFETY: The probes belong to the kernel until `drop`.
unsafe impl Send for Kprobes {}
// SAFETY: As above.
unsafe impl Sync for Kprobes {}

impl Kprobes {
    /// Registers all (`register_kprobe`).
    pub(crate) fn register<'a>(probes: impl Iterator<Item = &'a Probe>) -> Result<Self> {
        let mut this = Self(KVec::new());
        for probe in probes {
            this.0.reserve(1, GFP_KERNEL)?;
            let registered = kprobe {
                symbol_name: probe.symbol.as_char_ptr(),
                pre_handler: Some(probe.handler),
                // Keeps a probe that is a breakpoint from becoming a jump: then a changed `ip` would be ignored. A probe at an
                // ftrace site does not need it, and is not known before.
                post_handler: Some(nothing),
                ..Default::default()
            };
            let registered = KBox::into_raw(KBox::new(registered, GFP_KERNEL)?);
            // SAFETY: It stays where it is until it is unregistered.
            let result = kernel::error::to_result(unsafe { bindings::register_kprobe(registered) });
            if let Err(error) = result {
                // SAFETY: From the box above; the kernel has not kept it.
                drop(unsafe { KBox::from_raw(registered) });
                if probe.required || error != ENOENT {
                    pr_err!("cannot probe {}: {}\n", probe.symbol, error.to_errno());
                    return Err(error);
                }
                continue;
            }
            this.0.push(registered, GFP_KERNEL)?;
        }
        Ok(this)
    }
}

impl Drop for Kprobes {
    fn drop(&mut self) {
        // SAFETY: All were registered; after it no handler runs.
        unsafe { bindings::unregister_kprobes(self.0.as_mut_ptr(), self.0.len() as ffi::c_int) };
        for &registered in self.0.iter() {
            // SAFETY: From `KBox::into_raw`, and the kernel's no more.
            drop(unsafe { KBox::from_raw(registered) });
        }
    }
}

unsafe extern "C" fn nothing(_: *mut kprobe, _: *mut pt_regs, _: ffi::c_ulong) {}

// Where a function goes on that has been answered for: it returns at once.
global_asm!(
    ".pushsection .text",
    ".balign 16",
    ".globl ekm_return",
    ".type ekm_return, @function",
    "ekm_return:",
    "endbr64",
    "ret",
    "int3",
    ".size ekm_return, . - ekm_return",
    ".popsection",
);

extern "C" {
    fn ekm_return();
}

/// Makes the probed function return `value` instead of running.
///
/// # Safety
///
/// `regs` is what a handler got; the handler returns what this does.
pub(crate) unsafe fn answer(regs: *mut pt_regs, value: u64) -> ffi::c_int {
    // SAFETY: The caller's promise. The stack is as at the call, so returning from `ekm_return` returns to the caller.
    unsafe {
        (*regs).ax = value as _;
        (*regs).ip = ekm_return as usize as _;
    }
    1
}

/// Where a function is that is not exported (a kprobe that is never armed tells); `ENOENT` if nowhere.
pub(crate) fn address_of(symbol: &'static CStr) -> Result<*const ffi::c_void> {
    let mut probe = KBox::new(
        kprobe {
            symbol_name: symbol.as_char_ptr(),
            flags: bindings::KPROBE_FLAG_DISABLED,
            ..Default::default()
        },
        GFP_KERNEL,
    )?;
    let probe: *mut kprobe = &mut *probe;
    // SAFETY: It stays in its box until it is unregistered.
    unsafe {
        kernel::error::to_result(bindings::register_kprobe(probe))?;
        let address = (*probe).addr;
        bindings::unregister_kprobe(probe);
        if address.is_null() {
            Err(ENOENT)
        } else {
            Ok(ptr::from_ref(&*address).cast())
        }
    }
}
