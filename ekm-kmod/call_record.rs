// SPDX-License-Identifier: GPL-2.0
//! The record of one call that has changed a file system: its names and the bytes that it has
//! written.

use core::mem::size_of;
use core::ptr;
use kernel::{ffi, prelude::*};

use crate::bindings::{self, dentry, inode};
use crate::contents::Source;
use crate::lock::IrqLock;
use crate::log::{Event, LOG};
use crate::wire::{self, CallDetail};

/// The attributes that `notify_change` changes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Attributes {
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) times: [(i64, u32); 2],
}

/// # Safety
///
/// `inode` is valid.
pub(crate) unsafe fn attributes(inode: *const inode) -> Attributes {
    // SAFETY: The caller's promise.
    let inode = unsafe { &*inode };
    Attributes {
        size: inode.i_size as u64,
        mode: inode.i_mode.into(),
        owner: (inode.i_uid.val, inode.i_gid.val),
        times: [(inode.i_atime_sec, inode.i_atime_nsec), (inode.i_mtime_sec, inode.i_mtime_nsec)],
    }
}

/// The second text of a record.
#[derive(Clone, Copy)]
pub(crate) enum Text {
    Nothing,
    /// The path of a name.
    Path(*const dentry),
    /// The bytes up to a zero.
    String(*const ffi::c_char),
}

/// A call that has succeeded.
pub(crate) struct Call {
    pub(crate) what: u64,
    /// The inode whose number, mode and owner the record has.
    pub(crate) inode: *const inode,
    /// The name of the inode.
    pub(crate) path: *const dentry,
    pub(crate) other: Text,
    /// True if the call makes or removes the name `path` itself. If false, the record is nameless
    /// unless `path` still leads to the inode.
    pub(crate) own_name: bool,
    pub(crate) detail: CallDetail,
    pub(crate) source: Source,
    pub(crate) len: usize,
}

impl Call {
    /// Returns a call that makes, removes or replaces a name.
    pub(crate) fn of_name(what: u64, inode: *const inode, path: *const dentry) -> Self {
        let (detail, source) = (CallDetail::default(), Source::Nothing);
        Self { what, inode, path, other: Text::Nothing, own_name: true, detail, source, len: 0 }
    }

    /// Returns a call on the inode that a name leads to or has led to.
    pub(crate) fn of_inode(what: u64, inode: *const inode, path: *const dentry) -> Self {
        Self { own_name: false, ..Self::of_name(what, inode, path) }
    }

    /// Logs the call.
    ///
    /// # Safety
    ///
    /// Everything that the call names exists.
    pub(crate) unsafe fn log(mut self, system: u32) {
        // SAFETY: The caller's promise. Paths are built in memory that no other task uses
        // meanwhile. Building them takes no lock that a probed function holds.
        unsafe {
            let now = attributes(self.inode);
            let Self { detail, .. } = &mut self;
            (detail.mode, (detail.uid, detail.gid)) = (now.mode, now.owner);
            [(detail.atime, detail.atime_nsec), (detail.mtime, detail.mtime_nsec)] = now.times;
            let nameless = !self.own_name && is_nameless(self.path);
            PATHS.with(|paths| {
                let (first, second) = paths.split_at_mut(PATH_BYTES);
                let first = path_of(self.path, first);
                let second = match self.other {
                    Text::Nothing => Ok(&[][..]),
                    Text::Path(path) => path_of(path, second),
                    Text::String(text) => Ok(CStr::from_char_ptr(text).as_bytes()),
                };
                if first.is_err() || second.is_err() {
                    self.detail.missing = wire::CALL_INCOMPLETE;
                }
                self.append(
                    system,
                    nameless,
                    first.unwrap_or_default(),
                    second.unwrap_or_default(),
                );
            });
        }
    }

    /// # Safety
    ///
    /// As [`Call::log`].
    unsafe fn append(&self, system: u32, nameless: bool, path: &[u8], other: &[u8]) {
        let Self { what, inode, mut detail, source, len, .. } = self;
        (detail.path, detail.other) = (path.len() as u32, other.len() as u32);
        let event = Event {
            kind: wire::KIND_CALL,
            flags: if nameless { wire::FLAG_NAMELESS } else { 0 },
            device: system,
            sector: *what,
            len: *len as u64,
            // SAFETY: The caller's promise.
            request: unsafe { (**inode).i_ino } as u64,
        };
        const HEAD: usize = size_of::<CallDetail>();
        let texts = path.len().wrapping_add(other.len());
        LOG.append(&event, HEAD.wrapping_add(texts).saturating_add(*len), |to| {
            // SAFETY: There is room for all of it, and `to` is aligned to eight bytes.
            unsafe {
                let behind = to.wrapping_add(HEAD);
                ptr::copy_nonoverlapping(path.as_ptr(), behind, path.len());
                ptr::copy_nonoverlapping(
                    other.as_ptr(),
                    behind.wrapping_add(path.len()),
                    other.len(),
                );
                if !source.copy(behind.wrapping_add(texts), *len) {
                    detail.missing = wire::CALL_INCOMPLETE;
                }
                to.cast::<CallDetail>().write(detail);
            }
        });
    }
}

/// The longest path in bytes. There is room for two paths.
const PATH_BYTES: usize = 4096;
static PATHS: IrqLock<[u8; 2 * PATH_BYTES]> = IrqLock::new([0; 2 * PATH_BYTES]);

/// Returns the path from the root of the file system (`dentry_path_raw`).
///
/// # Safety
///
/// `dentry` is valid.
unsafe fn path_of(dentry: *const dentry, buffer: &mut [u8]) -> Result<&[u8]> {
    // SAFETY: The caller's promise. The path is written into the buffer and ends with a zero.
    unsafe {
        let path = bindings::dentry_path_raw(
            dentry,
            buffer.as_mut_ptr().cast(),
            buffer.len() as ffi::c_int,
        );
        // An error is an address in the last page.
        if path as isize > -4096 && (path as isize) < 0 {
            return Err(EINVAL);
        }
        Ok(CStr::from_char_ptr(path.cast()).as_bytes())
    }
}

/// Returns true if the name was removed or the inode never had one.
///
/// # Safety
///
/// `dentry` is valid.
unsafe fn is_nameless(dentry: *const dentry) -> bool {
    // SAFETY: The caller's promise.
    unsafe {
        let is_root = ptr::eq(dentry, (*(*dentry).d_sb).s_root);
        !is_root && ((*dentry).d_hash.pprev.is_null() || ptr::eq((*dentry).d_parent, dentry))
    }
}
