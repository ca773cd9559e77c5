// SPDX-License-Identifier: GPL-2.0
//! A control device: a misc device with calls by ioctl, and mmap.
//!
//! Every open file begins with a `Hello`; nothing else is let through before.

use core::sync::atomic::{AtomicBool, Ordering};
use kernel::{ffi, prelude::*};

use super::call::{protocol_error, valid, UserAddress};
use crate::{bindings, wire};

/// What a control device does.
pub(crate) trait Control: Send + Sync + Sized + 'static {
    /// The device's name below `/dev`.
    const NAME: &'static CStr;
    /// The number of its `Hello`.
    const HELLO: u32;

    /// A process opens the device.
    fn open(&self) -> Result;
    /// An open file is gone for good, with its mappings.
    fn release(&self);
    /// Any call but `Hello`; `ENOTTY` for what is none. No lock is held.
    fn call(&self, number: u32, address: UserAddress) -> Result;
    /// A process maps it from page `vma->vm_pgoff` on. The address space's lock is held.
    ///
    /// # Safety
    ///
    /// `vma` is what the `mmap` file operation got.
    unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result;
}

/// A registered control device.
#[repr(C)]
pub(crate) struct Registered<T: Control> {
    /// First, so that its address is the whole's.
    misc: bindings::miscdevice,
    operations: bindings::file_operations,
    /// Whether `misc_register` succeeded.
    registered: bool,
    control: T,
}

// SAFETY: `misc` and `operations` belong to the kernel while registered, and are not touched by us;
// `T` is both by itself.
unsafe impl<T: Control> Send for Registered<T> {}
// SAFETY: As above.
unsafe impl<T: Control> Sync for Registered<T> {}

/// What an open file remembers.
struct OpenFile<T: Control> {
    device: *const Registered<T>,
    greeted: AtomicBool,
}

impl<T: Control> Registered<T> {
    /// Registers it (`misc_register`): it is open to all from here on.
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
        // SAFETY: It stays where it is until `drop` deregisters it.
        kernel::error::to_result(unsafe { bindings::misc_register(&mut this.misc) })?;
        this.registered = true;
        Ok(this)
    }
}

impl<T: Control> Drop for Registered<T> {
    fn drop(&mut self) {
        if self.registered {
            // SAFETY: It was registered. No file is open: each holds the module.
            unsafe { bindings::misc_deregister(&mut self.misc) }
        }
    }
}

/// The number that a file operation returns.
fn number(result: Result) -> ffi::c_int {
    result.map_or_else(|error| error.to_errno(), |()| 0)
}

unsafe extern "C" fn open<T: Control>(
    _: *mut bindings::inode,
    file: *mut bindings::file,
) -> ffi::c_int {
    // SAFETY: `misc_open` leaves the miscdevice there, which is the first member of its
    // `Registered`.
    let device = unsafe { (*file).private_data.cast::<Registered<T>>().cast_const() };
    let opened = KBox::new(OpenFile { device, greeted: AtomicBool::new(false) }, GFP_KERNEL);
    number(opened.map_err(Error::from).and_then(|opened| {
        // SAFETY: Registered, and the open file holds the module.
        unsafe { (*device).control.open() }?;
        // SAFETY: The file is being opened: no other task has it.
        unsafe { (*file).private_data = KBox::into_raw(opened).cast() };
        Ok(())
    }))
}

unsafe extern "C" fn release<T: Control>(
    _: *mut bindings::inode,
    file: *mut bindings::file,
) -> ffi::c_int {
    // SAFETY: `open` succeeded and left it; the file is no longer used.
    let opened = unsafe { KBox::from_raw((*file).private_data.cast::<OpenFile<T>>()) };
    // SAFETY: The device is registered as long as the file is there.
    unsafe { (*opened.device).control.release() };
    0
}

/// What `open` left.
///
/// # Safety
///
/// `file` is an open file of a `Registered<T>`, as long as the answer is used.
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
    // SAFETY: `vma` is what this operation got.
    number(unsafe { control.map(vma) })
}
