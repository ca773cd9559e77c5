// SPDX-License-Identifier: GPL-2.0
//! The structure of a call, from user space and back.

use core::mem::size_of;
use kernel::prelude::*;

use crate::wire;

/// A structure that any bytes are a value of, and that has no padding.
///
/// # Safety
///
/// Both are true of the type.
pub(crate) unsafe trait Plain: Copy + Default {}

macro_rules! plain {
    ($($name:ident)*) => {
        // SAFETY: `wire` promises it of each of its structures.
        $(unsafe impl Plain for wire::$name {})*
    };
}

plain! { Hello DiskSpec BlockList FaultSpec Ends Watch Switch Reset Mark Buffers Clock Random
         LogSize Symbol Kinds Site OpenFile Follow }

/// A user address that came with a call.
#[derive(Clone, Copy)]
pub(crate) struct UserAddress(pub(crate) u64);

impl UserAddress {
    /// `copy_from_user`.
    fn read<T: Plain>(self) -> Result<T> {
        let mut value = T::default();
        let to: *mut T = &mut value;
        // SAFETY: `to` has room, and any bytes make a `T`. A bad user address is found out by the
        // copying.
        let left = unsafe {
            kernel::bindings::copy_from_user(to.cast(), self.0 as *const _, size_of::<T>() as _)
        };
        if left == 0 {
            Ok(value)
        } else {
            Err(EFAULT)
        }
    }

    /// `copy_to_user`.
    pub(crate) fn write<T: Copy>(self, values: &[T]) -> Result {
        // SAFETY: `values` is that long. A bad user address is found out by the copying.
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

    /// Takes the structure there, lets `call` answer in it, and brings it back, whether `call`
    /// succeeded or not.
    ///
    /// That it can be brought back is tried before `call` does anything. No lock may be held: user
    /// memory can be a file on any disk, and a mapping of ours.
    pub(crate) fn exchange<T: Plain>(self, call: impl FnOnce(&mut T) -> Result) -> Result {
        let mut value: T = self.read()?;
        self.write(&[value])?;
        let result = call(&mut value);
        self.write(&[value])?;
        result
    }
}

/// `EINVAL` unless so.
pub(crate) fn valid(condition: bool) -> Result {
    if condition {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

/// "Protocol error": not among the errors that the `kernel` crate names.
pub(crate) fn protocol_error() -> Error {
    Error::from_errno(-(kernel::bindings::EPROTO as kernel::ffi::c_int))
}
