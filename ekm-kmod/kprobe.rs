// SPDX-License-Identifier: GPL-2.0
//! Kprobes: handlers at the entry of kernel functions, which can observe the call or return in
//! place of the function.
//!
//! Probes are registered once and armed by separate flags, because registering one takes longer
//! than a whole test case. Handlers run with preemption off and must not call a probed function.

use core::arch::global_asm;
use core::ptr;
use kernel::{ffi, prelude::*};

use crate::bindings::{self, kprobe, pt_regs};

/// A handler at the entry of a function. If it returns 0, the function runs. If it returns the
/// result of [`answer`], the function does not run.
pub(crate) type Handler = unsafe extern "C" fn(*mut kprobe, *mut pt_regs) -> ffi::c_int;

/// A function and its handler.
pub(crate) struct Probe {
    pub(crate) symbol: &'static CStr,
    pub(crate) handler: Handler,
    /// True if the module fails to load on a kernel without this function.
    pub(crate) required: bool,
}

/// The length in bytes of the longest name of a function, with its zero byte.
const NAME_BYTES: usize = 128;

/// A registered probe.
#[repr(C)]
struct Held {
    /// The first field, because handlers get its address.
    probe: kprobe,
    /// The value that [`value`] returns.
    value: u64,
    /// The name of the function.
    symbol: [u8; NAME_BYTES],
}

/// Registered probes. A drop unregisters them.
pub(crate) struct Kprobes(KVec<*mut kprobe>);

// SAFETY: The probes belong to the kernel until `drop`.
unsafe impl Send for Kprobes {}
// SAFETY: As above.
unsafe impl Sync for Kprobes {}

impl Kprobes {
    /// Returns an empty list.
    pub(crate) fn none() -> Self {
        Self(KVec::new())
    }

    /// Returns the number of probes.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Registers all probes (`register_kprobe`).
    pub(crate) fn register<'a>(probes: impl Iterator<Item = &'a Probe>) -> Result<Self> {
        let mut this = Self::none();
        for probe in probes {
            if let Err(error) = this.add(probe.symbol, probe.handler, 0) {
                if probe.required || error != ENOENT {
                    pr_err!("cannot probe {}: {}\n", probe.symbol, error.to_errno());
                    return Err(error);
                }
            }
        }
        Ok(this)
    }

    /// Registers a probe with this [`value`] (`register_kprobe`). Returns true if the probe uses
    /// the function tracer, not a breakpoint.
    pub(crate) fn add(&mut self, symbol: &CStr, handler: Handler, value: u64) -> Result<bool> {
        self.0.reserve(1, GFP_KERNEL)?;
        let mut held = KBox::new(
            Held {
                probe: kprobe {
                    pre_handler: Some(handler),
                    // Keeps a breakpoint probe from being optimised to a jump, which would ignore a
                    // changed `ip`. A probe at an ftrace site does not need it, but the kind of
                    // probe is not known before registration.
                    post_handler: Some(nothing),
                    ..Default::default()
                },
                value,
                symbol: [0; NAME_BYTES],
            },
            GFP_KERNEL,
        )?;
        let name = symbol.as_bytes_with_nul();
        held.symbol.get_mut(..name.len()).ok_or(ENOENT)?.copy_from_slice(name);
        held.probe.symbol_name = held.symbol.as_ptr().cast();
        let held = KBox::into_raw(held);
        let registered = held.cast::<kprobe>();
        // SAFETY: The probe does not move until it is unregistered.
        if let Err(error) =
            kernel::error::to_result(unsafe { bindings::register_kprobe(registered) })
        {
            // SAFETY: From the box above. The kernel has not kept it.
            drop(unsafe { KBox::from_raw(held) });
            return Err(error);
        }
        self.0.push(registered, GFP_KERNEL)?;
        // SAFETY: The probe stays until `drop`.
        Ok(unsafe { (*registered).flags } & bindings::KPROBE_FLAG_FTRACE != 0)
    }
}

impl Drop for Kprobes {
    fn drop(&mut self) {
        // SAFETY: All were registered. No handler runs after this call.
        unsafe { bindings::unregister_kprobes(self.0.as_mut_ptr(), self.0.len() as ffi::c_int) };
        for &registered in self.0.iter() {
            // SAFETY: From `KBox::into_raw`, and no longer used by the kernel.
            drop(unsafe { KBox::from_raw(registered.cast::<Held>()) });
        }
    }
}

/// Returns the value with which the probe was registered.
///
/// # Safety
///
/// `probe` is the argument of a handler.
pub(crate) unsafe fn value(probe: *const kprobe) -> u64 {
    // SAFETY: Each probe is the first field of a `Held`.
    unsafe { (*probe.cast::<Held>()).value }
}

unsafe extern "C" fn nothing(_: *mut kprobe, _: *mut pt_regs, _: ffi::c_ulong) {}

// The place where a replaced function continues: it returns at once.
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
/// `regs` is the argument of a handler, which returns the result of this function.
pub(crate) unsafe fn answer(regs: *mut pt_regs, value: u64) -> ffi::c_int {
    // SAFETY: The caller's promise. The stack is as it was at the call, so the return from
    // `ekm_return` returns to the caller.
    unsafe {
        (*regs).ax = value as _;
        (*regs).ip = ekm_return as usize as _;
    }
    1
}

/// Returns the address of a function that is not exported, from a kprobe that is never armed.
/// `ENOENT` if there is no such function.
pub(crate) fn address_of(symbol: &CStr) -> Result<*const ffi::c_void> {
    let mut probe = KBox::new(
        kprobe {
            symbol_name: symbol.as_char_ptr(),
            flags: bindings::KPROBE_FLAG_DISABLED,
            ..Default::default()
        },
        GFP_KERNEL,
    )?;
    let probe: *mut kprobe = &mut *probe;
    // SAFETY: The probe stays in its box until it is unregistered.
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
