// SPDX-License-Identifier: GPL-2.0
//! Copies the structure of a call from and to user space.

use core::mem::size_of;
use kernel::prelude::*;

use crate::wire;

/// A structure without padding, for which any bytes are a valid value.
///
/// # Safety
///
/// The type has both properties.
pub(crate) unsafe trait Plain: Copy + Default {}

macro_rules! plain {
    ($($name:ident)*) => {
        // SAFETY: `wire` guarantees this for each of its structures.
        $(unsafe impl Plain for wire::$name {})*
    };
}

plain! { Hello DiskSpec BlockList FaultSpec Ends Watch Switch Reset Mark Buffers Clock Random
         LogSize Symbol Kinds Site OpenFile Follow }

/// A user address that was passed with a call.
#[derive(Clone, Copy)]
pub(crate) struct UserAddress(pub(crate) u64);

impl UserAddress {
    /// Reads a value (`copy_from_user`).
    fn read<T: Plain>(self) -> Result<T> {
        let mut value = T::default();
        let to: *mut T = &mut value;
        // SAFETY: `to` has room, and any bytes are a valid `T`. The copy detects a bad user
        // address.
        let left = unsafe {
            kernel::bindings::copy_from_user(to.cast(), self.0 as *const _, size_of::<T>() as _)
        };
        if left == 0 {
            Ok(value)
        } else {
            Err(EFAULT)
        }
    }

    /// Writes values (`copy_to_user`).
    pub(crate) fn write<T: Copy>(self, values: &[T]) -> Result {
        // SAFETY: `values` has this length. The copy detects a bad user address.
        let left = unsafe {
            kernel::bindings::copy_to_user(
                self.0 as *mut _,
                values.as_ptr().cast(),
                core::mem::size_of_val(values) as _,
            )
        };
        if left == 0 {
            Ok(())
        } else {
            Err(EFAULT)
        }
    }

    /// Reads the structure, calls `call` with it, and writes it back, whether `call` succeeds or
    /// not.
    ///
    /// A write is tried before `call` does anything. The caller must not hold a lock, because user
    /// memory can be a file on any disk or a mapping of this module.
    pub(crate) fn exchange<T: Plain>(self, call: impl FnOnce(&mut T) -> Result) -> Result {
        let mut value: T = self.read()?;
        self.write(&[value])?;
        let result = call(&mut value);
        self.write(&[value])?;
        result
    }
}

/// Returns `EINVAL` unless the condition holds.
pub(crate) fn valid(condition: bool) -> Result {
    if condition {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

/// Returns "Protocol error", which the `kernel` crate does not define.
pub(crate) fn protocol_error() -> Error {
    Error::from_errno(-(kernel::bindings::EPROTO as kernel::ffi::c_int))
}
