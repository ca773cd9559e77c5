// SPDX-License-Identifier: GPL-2.0
//! `/dev/explode-mark`, with which programs request crash checks (EX-66). Any number of processes
//! can open it. One write(2) is one request: `wire::MARK_CRASH`, the name, and an optional newline.
//!
//! A program makes the request where it can wait. Therefore the dirty buffers are logged before the
//! request, as by `EKM_BUFFERS`, and the user knows exactly what can be on disk at this moment.

use kernel::prelude::*;
use kernel::sync::{new_mutex, Mutex};
use kernel::{c_str, ffi};

use crate::asked::ask;
use crate::bindings;
use crate::buffers::Devices;
use crate::common::call::valid;
use crate::watch::WATCHES;
use crate::wire::{ASKED_MAX, FLAG_ASKED, FLAG_PROGRAM, MARK_CRASH};

/// The length of the longest line in bytes.
const LINE_MAX: usize = MARK_CRASH.len() + ASKED_MAX + 1;

/// The registered device.
#[repr(C)]
pub(crate) struct Marks {
    /// The first field, so that its address is that of the whole structure.
    misc: bindings::miscdevice,
    operations: bindings::file_operations,
    registered: bool,
    devices: Devices,
    /// The lock of requests. The records of two requests are not interleaved.
    requests: Pin<KBox<Mutex<()>>>,
}

// SAFETY: `misc` and `operations` belong to the kernel while registered, and this code does not
// change them.
unsafe impl Send for Marks {}
// SAFETY: As above.
unsafe impl Sync for Marks {}

impl Marks {
    /// Registers the device (`misc_register`). All users may write to it, because a checked program
    /// may run as any user.
    pub(crate) fn register(module: &'static ThisModule) -> Result<KBox<Self>> {
        let operations = bindings::file_operations {
            owner: module.as_ptr().cast(),
            write: Some(write),
            llseek: Some(bindings::noop_llseek),
            ..Default::default()
        };
        let misc = bindings::miscdevice {
            minor: bindings::MISC_DYNAMIC_MINOR as ffi::c_int,
            name: c_str!("explode-mark").as_char_ptr(),
            mode: 0o222,
            ..Default::default()
        };
        let devices = Devices::new()?;
        let requests = KBox::pin_init(new_mutex!((), "ekm_marks"), GFP_KERNEL)?;
        let mut this =
            KBox::new(Self { misc, operations, registered: false, devices, requests }, GFP_KERNEL)?;
        this.misc.fops = &this.operations;
        // SAFETY: The structure does not move until `drop` deregisters it.
        kernel::error::to_result(unsafe { bindings::misc_register(&mut this.misc) })?;
        this.registered = true;
        Ok(this)
    }

    /// Handles a line that a program has written. `EINVAL` if it is not a request.
    fn request(&self, line: &[u8]) -> Result {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let name = line.strip_prefix(MARK_CRASH).ok_or(EINVAL)?;
        let is_part =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        valid(!name.is_empty() && name.len() <= ASKED_MAX && name.iter().all(is_part))?;
        if WATCHES.is_recording() {
            let _alone = self.requests.lock();
            for (number, device) in WATCHES.with_buffers() {
                match self.devices.log_dirty(number, device, FLAG_ASKED) {
                    // The device was just removed.
                    Err(error) if error == ENODEV => {}
                    logged => drop(logged?),
                }
            }
            ask(name, FLAG_PROGRAM, 0);
        }
        Ok(())
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        if self.registered {
            // SAFETY: It was registered. No file is open, because each open file holds the module.
            unsafe { bindings::misc_deregister(&mut self.misc) }
        }
    }
}

unsafe extern "C" fn write(
    file: *mut bindings::file,
    from: *const ffi::c_char,
    len: usize,
    _: *mut bindings::loff_t,
) -> isize {
    // SAFETY: `misc_open` has stored the miscdevice there, which is the first member of a `Marks`.
    let this = unsafe { &*(*file).private_data.cast::<Marks>().cast_const() };
    let mut line = [0u8; LINE_MAX];
    let Some(line) = line.get_mut(..len) else { return EINVAL.to_errno() as isize };
    // SAFETY: There is room for `line.len()` bytes. The copy detects a bad user address.
    let left = unsafe {
        kernel::bindings::copy_from_user(line.as_mut_ptr().cast(), from.cast(), line.len() as _)
    };
    if left != 0 {
        return EFAULT.to_errno() as isize;
    }
    match this.request(line) {
        Ok(()) => len as isize,
        Err(error) => error.to_errno() as isize,
    }
}
