// SPDX-License-Identifier: GPL-2.0
//! Names of addresses, and address ranges of functions.

use core::mem::transmute;
use core::ops::Range;
use kernel::{c_str, ffi, prelude::*};

use crate::bindings;
use crate::kprobe::address_of;
use crate::wire::Symbol;

/// The largest number of bytes that `sprint_symbol` may write (`KSYM_SYMBOL_LEN` is less).
const LONGEST: usize = 1024;

/// Stores the name of an address ([`crate::wire::EKM_SYMBOL`]).
pub(crate) fn name(symbol: &mut Symbol) -> Result {
    let mut text = KVec::from_elem(0u8, LONGEST, GFP_KERNEL)?;
    // SAFETY: There is room, and any number is a valid argument.
    unsafe { bindings::sprint_symbol(text.as_mut_ptr().cast(), symbol.address as ffi::c_ulong) };
    let mut text = text.iter().copied().take_while(|byte| *byte != 0);
    for byte in symbol.text.as_flattened_mut() {
        *byte = text.next().unwrap_or(0);
    }
    Ok(())
}

/// The type of `kallsyms_lookup_size_offset`, which stores the size of the symbol at an address and
/// the offset of the address in it. It returns 0 if there is no symbol.
type LookupSize =
    unsafe extern "C" fn(ffi::c_ulong, *mut ffi::c_ulong, *mut ffi::c_ulong) -> ffi::c_int;

/// Returns the address range of a function. `ENOENT` if there is no such function.
pub(crate) fn range_of(symbol: &'static CStr) -> Result<Range<u64>> {
    let lookup = address_of(c_str!("kallsyms_lookup_size_offset"))?;
    // SAFETY: The function with this name has this type in 6.12.
    let lookup = unsafe { transmute::<*const ffi::c_void, LookupSize>(lookup) };
    let begin = address_of(symbol)? as u64;
    let (mut size, mut offset) = (0, 0);
    // SAFETY: Any address is a valid argument.
    let found = unsafe { lookup(begin as ffi::c_ulong, &mut size, &mut offset) };
    if found == 0 {
        return Err(ENOENT);
    }
    let begin = begin.wrapping_sub(offset as u64);
    Ok(begin..begin.wrapping_add(size as u64))
}
