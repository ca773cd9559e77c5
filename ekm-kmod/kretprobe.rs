// SPDX-License-Identifier: GPL-2.0
//! Kretprobes: handlers at the beginning of kernel functions and at their return, which only look
//! on.
//!
//! What the first handler notes, the second one gets. Handlers run with preemption off and must not
//! call a function that is probed.

use core::ptr;
use kernel::{ffi, prelude::*};

use crate::bindings::{self, kprobe, kprobe_opcode_t, kretprobe, kretprobe_instance, pt_regs};

/// Runs at the function's beginning (0: its return is wanted), or at its return.
pub(crate) type Handler = unsafe extern "C" fn(*mut kretprobe_instance, *mut pt_regs) -> ffi::c_int;

/// So many calls of one function can be on their way at once; of those beyond, nothing is seen.
const MOST: ffi::c_int = 64;

/// A function, by its name or its address.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    Named(&'static CStr),
    At(usize),
}

/// A function and its handlers.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    pub(crate) function: Function,
    pub(crate) entry: Handler,
    pub(crate) exit: Handler,
    /// Whether a kernel without that function will not do.
    pub(crate) required: bool,
}

/// Registered probes, as long as this is there.
pub(crate) struct Kretprobes(KVec<*mut kretprobe>);

// SAFETY: The probes belong to the kernel until `drop`.
unsafe impl Send for Kretprobes {}
// SAFETY: As above.
unsafe impl Sync for Kretprobes {}

impl Kretprobes {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self(KVec::new())
    }

    /// Registers one (`register_kretprobe`), whose first handler may note `notes` bytes; nothing
    /// happens if it is there already.
    pub(crate) fn add(&mut self, probe: &Probe, notes: usize) -> Result {
        let mut function = kprobe::default();
        match probe.function {
            Function::Named(name) => function.symbol_name = name.as_char_ptr(),
            Function::At(address) => {
                let is = |known: &&*mut kretprobe| {
                    // SAFETY: Registered, so it is there.
                    let at = unsafe { (***known).kp.addr } as usize;
                    // The kernel puts a probe behind the mark of a function that may be called by
                    // its address (ENDBR64).
                    at == address || at == address.wrapping_add(ENDBR_BYTES)
                };
                if self.0.iter().any(|known| is(&known)) {
                    return Ok(());
                }
                function.addr = address as *mut kprobe_opcode_t;
            }
        }
        self.0.reserve(1, GFP_KERNEL)?;
        let registered = kretprobe {
            kp: function,
            handler: Some(probe.exit),
            entry_handler: Some(probe.entry),
            maxactive: MOST,
            data_size: notes as _,
            ..Default::default()
        };
        let registered = KBox::into_raw(KBox::new(registered, GFP_KERNEL)?);
        // SAFETY: It stays where it is until it is unregistered.
        let result = kernel::error::to_result(unsafe { bindings::register_kretprobe(registered) });
        if let Err(error) = result {
            // SAFETY: From the box above; the kernel has not kept it.
            drop(unsafe { KBox::from_raw(registered) });
            if probe.required || error != ENOENT {
                pr_err!("cannot probe the return of {}: {}\n", probe.function, error.to_errno());
                return Err(error);
            }
            return Ok(());
        }
        self.0.push(registered, GFP_KERNEL)?;
        Ok(())
    }

    /// How many calls were not seen.
    pub(crate) fn missed(&self) -> u32 {
        // SAFETY: Registered, so they are there; a number that the kernel counts up.
        let missed =
            |probe: &*mut kretprobe| unsafe { ptr::read_volatile(&raw const (**probe).nmissed) };
        self.0.iter().fold(0, |sum: u32, probe| sum.wrapping_add(missed(probe) as u32))
    }
}

/// Bytes of ENDBR64.
const ENDBR_BYTES: usize = 4;

impl Drop for Kretprobes {
    fn drop(&mut self) {
        for &registered in self.0.iter() {
            // SAFETY: Registered; after it no handler runs, and it is the kernel's no more. It is
            // from `KBox::into_raw`.
            unsafe {
                bindings::unregister_kretprobe(registered);
                drop(KBox::from_raw(registered));
            }
        }
    }
}

impl core::fmt::Display for Function {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Function::Named(name) => write!(f, "{name}"),
            Function::At(address) => write!(f, "{address:#x}"),
        }
    }
}

/// Where the first handler leaves its notes, for the second one.
///
/// # Safety
///
/// `instance` is what a handler got, of a probe with room for a `T`.
pub(crate) unsafe fn notes<T>(instance: *mut kretprobe_instance) -> *mut T {
    // SAFETY: The caller's promise: `data_size` bytes follow the instance, whose alignment is that
    // of a pointer.
    unsafe { (&raw mut (*instance).data).cast() }
}
