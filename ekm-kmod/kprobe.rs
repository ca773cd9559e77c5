// SPDX-License-Identifier: GPL-2.0
//! Kprobes: handlers at the beginning of kernel functions, which may look on, or answer in the
//! function's place.
//!
//! They are registered once, and armed by flags of their own: registering one takes longer than a
//! whole test case. Handlers run with preemption off and must not call a function that is probed.

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
    /// Whether the module cannot do without it. Else a kernel without that function is good as
    /// well.
    pub(crate) required: bool,
}

/// Bytes of the longest name of a function, with the zero behind it.
const NAME_BYTES: usize = 128;

/// A probe as the kernel has it.
#[repr(C)]
struct Held {
    /// First: handlers get its address.
    probe: kprobe,
    /// What [`value`] says.
    value: u64,
    /// The function's name.
    symbol: [u8; NAME_BYTES],
}

/// Registered probes, as long as this is there.
pub(crate) struct Kprobes(KVec<*mut kprobe>);

// SAFETY: The probes belong to the kernel until `drop`.
unsafe impl Send for Kprobes {}
// SAFETY: As above.
unsafe impl Sync for Kprobes {}

impl Kprobes {
    /// None yet.
    pub(crate) fn none() -> Self {
        Self(KVec::new())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Registers all (`register_kprobe`).
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

    /// Registers one more (`register_kprobe`), which has this [`value`]; says whether its function
    /// is entered by way of the function tracer, and not by a breakpoint.
    pub(crate) fn add(&mut self, symbol: &CStr, handler: Handler, value: u64) -> Result<bool> {
        self.0.reserve(1, GFP_KERNEL)?;
        let mut held = KBox::new(
            Held {
                probe: kprobe {
                    pre_handler: Some(handler),
                    // Keeps a probe that is a breakpoint from becoming a jump: then a changed `ip`
                    // would be ignored. A probe at an ftrace site does not need it, and is not
                    // known before.
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
        // SAFETY: It stays where it is until it is unregistered.
        if let Err(error) =
            kernel::error::to_result(unsafe { bindings::register_kprobe(registered) })
        {
            // SAFETY: From the box above; the kernel has not kept it.
            drop(unsafe { KBox::from_raw(held) });
            return Err(error);
        }
        self.0.push(registered, GFP_KERNEL)?;
        // SAFETY: It is there until `drop`.
        Ok(unsafe { (*registered).flags } & bindings::KPROBE_FLAG_FTRACE != 0)
    }
}

impl Drop for Kprobes {
    fn drop(&mut self) {
        // SAFETY: All were registered; after it no handler runs.
        unsafe { bindings::unregister_kprobes(self.0.as_mut_ptr(), self.0.len() as ffi::c_int) };
        for &registered in self.0.iter() {
            // SAFETY: From `KBox::into_raw`, and the kernel's no more.
            drop(unsafe { KBox::from_raw(registered.cast::<Held>()) });
        }
    }
}

/// What the probe was registered with.
///
/// # Safety
///
/// `probe` is what a handler got.
pub(crate) unsafe fn value(probe: *const kprobe) -> u64 {
    // SAFETY: Each probe is the first of a `Held`.
    unsafe { (*probe.cast::<Held>()).value }
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
    // SAFETY: The caller's promise. The stack is as at the call, so returning from `ekm_return`
    // returns to the caller.
    unsafe {
        (*regs).ax = value as _;
        (*regs).ip = ekm_return as usize as _;
    }
    1
}

/// Where a function is that is not exported (a kprobe that is never armed tells); `ENOENT` if
/// nowhere.
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
