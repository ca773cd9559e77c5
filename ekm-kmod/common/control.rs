// SPDX-License-Identifier: GPL-2.0
//! A control device: a misc device with ioctl calls and mmap.
//!
//! The first call on every open file is a `Hello`. Other calls fail before it.

use core::sync::atomic::{AtomicBool, Ordering};
use kernel::{ffi, prelude::*};

use super::call::{protocol_error, valid, UserAddress};
use crate::{bindings, wire};

/// The operations of a control device.
pub(crate) trait Control: Send + Sync + Sized + 'static {
    /// The device's name below `/dev`.
    const NAME: &'static CStr;
    /// The number of its `Hello`.
    const HELLO: u32;

    /// Handles an open of the device.
    fn open(&self) -> Result;
    /// Handles the end of an open file, after its last mapping is gone.
    fn release(&self);
    /// Handles a call other than `Hello`. `ENOTTY` for an unknown number. No lock is held.
    fn call(&self, number: u32, address: UserAddress) -> Result;
    /// Maps memory from page `vma->vm_pgoff` on. The lock of the address space is held.
    ///
    /// # Safety
    ///
    /// `vma` is the argument of the `mmap` file operation.
    unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result;
}

/// A registered control device.
#[repr(C)]
pub(crate) struct Registered<T: Control> {
    /// The first field, so that its address is that of the whole structure.
    misc: bindings::miscdevice,
    operations: bindings::file_operations,
    /// True if `misc_register` succeeded.
    registered: bool,
    control: T,
}

// SAFETY: `misc` and `operations` belong to the kernel while registered, and this code does not
// change them. `T` is `Send` and `Sync`.
unsafe impl<T: Control> Send for Registered<T> {}
// SAFETY: As above.
unsafe impl<T: Control> Sync for Registered<T> {}

/// The state of an open file.
struct OpenFile<T: Control> {
    device: *const Registered<T>,
    greeted: AtomicBool,
}

impl<T: Control> Registered<T> {
    /// Registers the device (`misc_register`). From then on it can be opened.
    pub(crate) fn new(control: T, module: &'static ThisModule) -> Result<KBox<Self>> {
        let operations = bindings::file_operations {
            owner: module.as_ptr().cast(),
            open: Some(open::<T>),
            release: Some(release::<T>),
            unlocked_ioctl: Some(ioctl::<T>),
            mmap: Some(mmap::<T>),
            llseek: Some(bindings::noop_llseek),
            ..Default::default()
        };
        let misc = bindings::miscdevice {
            minor: bindings::MISC_DYNAMIC_MINOR as ffi::c_int,
            name: T::NAME.as_char_ptr(),
            mode: 0o600,
            ..Default::default()
        };
        let mut this =
            KBox::new(Self { misc, operations, registered: false, control }, GFP_KERNEL)?;
        this.misc.fops = &this.operations;
        // SAFETY: The structure does not move until `drop` deregisters it.
        kernel::error::to_result(unsafe { bindings::misc_register(&mut this.misc) })?;
        this.registered = true;
        Ok(this)
    }
}

impl<T: Control> Drop for Registered<T> {
    fn drop(&mut self) {
        if self.registered {
            // SAFETY: It was registered. No file is open, because each open file holds the module.
            unsafe { bindings::misc_deregister(&mut self.misc) }
        }
    }
}

/// Returns the return value of a file operation.
fn number(result: Result) -> ffi::c_int {
    result.map_or_else(|error| error.to_errno(), |()| 0)
}

unsafe extern "C" fn open<T: Control>(
    _: *mut bindings::inode,
    file: *mut bindings::file,
) -> ffi::c_int {
    // SAFETY: `misc_open` has stored the miscdevice there, which is the first member of its
    // `Registered`.
    let device = unsafe { (*file).private_data.cast::<Registered<T>>().cast_const() };
    let opened = KBox::new(OpenFile { device, greeted: AtomicBool::new(false) }, GFP_KERNEL);
    number(opened.map_err(Error::from).and_then(|opened| {
        // SAFETY: The device is registered, and the open file holds the module.
        unsafe { (*device).control.open() }?;
        // SAFETY: The file is being opened, so no other task has it.
        unsafe { (*file).private_data = KBox::into_raw(opened).cast() };
        Ok(())
    }))
}

unsafe extern "C" fn release<T: Control>(
    _: *mut bindings::inode,
    file: *mut bindings::file,
) -> ffi::c_int {
    // SAFETY: `open` succeeded and stored the pointer. The file is no longer used.
    let opened = unsafe { KBox::from_raw((*file).private_data.cast::<OpenFile<T>>()) };
    // SAFETY: The device is registered as long as the file exists.
    unsafe { (*opened.device).control.release() };
    0
}

/// Returns the state that `open` stored.
///
/// # Safety
///
/// `file` is an open file of a `Registered<T>` for as long as the result is used.
unsafe fn opened<'a, T: Control>(file: *mut bindings::file) -> (&'a AtomicBool, &'a T) {
    // SAFETY: The caller's promise.
    unsafe {
        let opened = (*file).private_data.cast::<OpenFile<T>>();
        (&(*opened).greeted, &(*(*opened).device).control)
    }
}

unsafe extern "C" fn ioctl<T: Control>(
    file: *mut bindings::file,
    call: ffi::c_uint,
    address: ffi::c_ulong,
) -> ffi::c_long {
    // SAFETY: The kernel calls this for open files only.
    let (greeted, control) = unsafe { opened::<T>(file) };
    let address = UserAddress(address as u64);
    let result = if call == T::HELLO {
        address.exchange(|hello: &mut wire::Hello| {
            valid(hello.reserved == 0)?;
            let theirs = core::mem::replace(&mut hello.version, wire::ABI_VERSION);
            if theirs != wire::ABI_VERSION {
                return Err(protocol_error());
            }
            greeted.store(true, Ordering::Release);
            Ok(())
        })
    } else if greeted.load(Ordering::Acquire) {
        control.call(call, address)
    } else {
        Err(protocol_error())
    };
    number(result) as ffi::c_long
}

unsafe extern "C" fn mmap<T: Control>(
    file: *mut bindings::file,
    vma: *mut bindings::vm_area_struct,
) -> ffi::c_int {
    // SAFETY: The kernel calls this for open files only.
    let (greeted, control) = unsafe { opened::<T>(file) };
    if !greeted.load(Ordering::Acquire) {
        return protocol_error().to_errno();
    }
    // SAFETY: `vma` is the argument of this operation.
    number(unsafe { control.map(vma) })
}
