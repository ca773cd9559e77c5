// SPDX-License-Identifier: GPL-2.0
//! Kretprobes: handlers at the entry and at the return of kernel functions. They only observe.
//!
//! The notes of the first handler are passed to the second one. Handlers run with preemption off
//! and must not call a probed function.

use core::ptr;
use kernel::{ffi, prelude::*};

use crate::bindings::{self, kprobe, kprobe_opcode_t, kretprobe, kretprobe_instance, pt_regs};

/// A handler at the entry of a function, which returns 0 if the return is probed as well, or at its
/// return.
pub(crate) type Handler = unsafe extern "C" fn(*mut kretprobe_instance, *mut pt_regs) -> ffi::c_int;

/// The number of calls of one function that can be observed at once. Further calls are missed.
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
    /// True if registration fails on a kernel without this function.
    pub(crate) required: bool,
}

/// Registered probes. A drop unregisters them.
pub(crate) struct Kretprobes(KVec<*mut kretprobe>);

// SAFETY: The probes belong to the kernel until `drop`.
unsafe impl Send for Kretprobes {}
// SAFETY: As above.
unsafe impl Sync for Kretprobes {}

impl Kretprobes {
    /// Returns an empty list.
    pub(crate) fn new() -> Self {
        Self(KVec::new())
    }

    /// Registers a probe whose first handler may note `notes` bytes (`register_kretprobe`). Does
    /// nothing if the probe is already registered.
    pub(crate) fn add(&mut self, probe: &Probe, notes: usize) -> Result {
        let mut function = kprobe::default();
        match probe.function {
            Function::Named(name) => function.symbol_name = name.as_char_ptr(),
            Function::At(address) => {
                let is = |known: &&*mut kretprobe| {
                    // SAFETY: The probe is registered, so it exists.
                    let at = unsafe { (***known).kp.addr } as usize;
                    // The kernel puts a probe after the ENDBR64 instruction of a function that may
                    // be called by its address.
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
        // SAFETY: The probe does not move until it is unregistered.
        let result = kernel::error::to_result(unsafe { bindings::register_kretprobe(registered) });
        if let Err(error) = result {
            // SAFETY: From the box above. The kernel has not kept it.
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

    /// Returns the number of calls that were missed.
    pub(crate) fn missed(&self) -> u32 {
        // SAFETY: The probes are registered, so they exist. The kernel increments this number.
        let missed =
            |probe: &*mut kretprobe| unsafe { ptr::read_volatile(&raw const (**probe).nmissed) };
        self.0.iter().fold(0, |sum: u32, probe| sum.wrapping_add(missed(probe) as u32))
    }
}

/// The length of ENDBR64 in bytes.
const ENDBR_BYTES: usize = 4;

impl Drop for Kretprobes {
    fn drop(&mut self) {
        for &registered in self.0.iter() {
            // SAFETY: It was registered. After this call no handler runs, and the kernel no longer
            // uses the probe. It is from `KBox::into_raw`.
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

/// Returns the place of the notes of the first handler for the second one.
///
/// # Safety
///
/// `instance` is the argument of a handler of a probe with room for a `T`.
pub(crate) unsafe fn notes<T>(instance: *mut kretprobe_instance) -> *mut T {
    // SAFETY: The caller's promise: `data_size` bytes follow the instance, with the alignment of a
    // pointer.
    unsafe { (&raw mut (*instance).data).cast() }
}
