// SPDX-License-Identifier: GPL-2.0
//! Functions named by the user that fail by choice ([`crate::wire::FAIL_PROBE`]). They return a
//! value that the user sets, without running.
//!
//! Not every function can be skipped, because its caller may rely on its effects. The kernel has a
//! list of functions that can be, with the values that each may return (`ALLOW_ERROR_INJECTION`,
//! used by kernel/fail_function.c). Another function is accepted only if the user sets `unlisted`.

use core::mem::transmute;
use kernel::{c_str, ffi, prelude::*};

use crate::bindings::{self, kprobe, pt_regs};
use crate::failures::ask;
use crate::kprobe::{address_of, value, Kprobes};
use crate::wire::{
    Site, FAIL_PROBE, LISTED_ERRNO, LISTED_ERRNO_NULL, LISTED_NOT, LISTED_NULL, LISTED_TRUE,
    NO_DEVICE, SITES_MAX,
};

/// The largest error number (`MAX_ERRNO`).
const MAX_ERRNO: i64 = 4095;

/// The functions that are probed.
pub(crate) struct Sites {
    probes: Kprobes,
    addresses: KVec<usize>,
}

impl Sites {
    /// Returns an empty list.
    pub(crate) fn none() -> Self {
        Self { probes: Kprobes::none(), addresses: KVec::new() }
    }

    /// Adds a function ([`crate::wire::EKM_SITE`]).
    pub(crate) fn add(&mut self, site: &mut Site) -> Result {
        let text = site.symbol.as_flattened();
        let end = text.iter().position(|byte| *byte == 0).ok_or(EINVAL)?;
        let symbol =
            CStr::from_bytes_with_nul(text.get(..=end).ok_or(EINVAL)?).map_err(|_| EINVAL)?;
        let address = address_of(symbol)? as usize;
        site.listed = listed(address);
        let returns = site.returns as i64;
        let is_error = (-MAX_ERRNO..0).contains(&returns);
        let fits = match site.listed {
            LISTED_NULL => returns == 0,
            LISTED_ERRNO => is_error,
            LISTED_ERRNO_NULL => is_error || returns == 0,
            LISTED_TRUE => returns == 1,
            _ => false,
        };
        if !fits && site.unlisted != 1 {
            return Err(EPERM);
        }
        if self.addresses.contains(&address) {
            return Err(EEXIST);
        }
        if self.probes.count() >= SITES_MAX {
            return Err(ENOSPC);
        }
        self.addresses.reserve(1, GFP_KERNEL)?;
        self.probes.add(symbol, fail, site.returns)?;
        Ok(self.addresses.push(address, GFP_KERNEL)?)
    }
}

/// Probes a function of any type.
unsafe extern "C" fn fail(probe: *mut kprobe, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's arguments. The kernel's list or the user guarantees that the function
    // can be skipped.
    unsafe { ask(regs, FAIL_PROBE, NO_DEVICE, value(probe) as i64) }
}

/// The type of `get_injectable_error_type`, which returns how the function at an address may fail
/// according to the kernel's list. Negative if the list does not have it.
type TypeOf = unsafe extern "C" fn(ffi::c_ulong) -> ffi::c_int;

/// Returns the entry of a function in the kernel's list.
fn listed(address: usize) -> u32 {
    // A kernel without the list does not have this function.
    let Ok(type_of) = address_of(c_str!("get_injectable_error_type")) else { return LISTED_NOT };
    // SAFETY: The function with this name has this type in 6.12. Any address is a valid argument.
    let said = unsafe { transmute::<*const ffi::c_void, TypeOf>(type_of)(address as ffi::c_ulong) };
    match u32::try_from(said) {
        Ok(bindings::EI_ETYPE_NULL) => LISTED_NULL,
        Ok(bindings::EI_ETYPE_ERRNO) => LISTED_ERRNO,
        Ok(bindings::EI_ETYPE_ERRNO_NULL) => LISTED_ERRNO_NULL,
        Ok(bindings::EI_ETYPE_TRUE) => LISTED_TRUE,
        _ => LISTED_NOT,
    }
}
