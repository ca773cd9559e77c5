//! Decoding of the calls in EKM's log.

use std::ffi::OsStr;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use bytes::Bytes;
use explode_ekm_abi::wire::{
    CALL_ACL, CALL_ALLOCATE, CALL_CHANGE, CALL_CREATE, CALL_FLAGS, CALL_INCOMPLETE, CALL_LINK,
    CALL_MAP, CALL_MKDIR, CALL_MKNOD, CALL_REMOVE_ATTRIBUTE, CALL_RENAME, CALL_RMDIR,
    CALL_SET_ATTRIBUTE, CALL_SHARE, CALL_SYMLINK, CALL_TMPFILE, CALL_UNLINK, CALL_WRITE,
    CHANGED_MODE, CHANGED_OWNER, CHANGED_SIZE, CHANGED_TIMES, CallDetail, FLAG_NAMELESS,
    RecordHeader,
};

use super::call::{AttributeChange, KernelCall, KernelCallKind};
use explode_runtime::base::{Blame, StepError};

/// Decodes the call of a record.
///
/// # Errors
/// The record is damaged or incomplete.
pub(crate) fn read(header: &RecordHeader, data: &Bytes) -> Result<KernelCall, StepError> {
    let damaged = || StepError::new("a call in EKM's log is damaged").blame(Blame::Tool);
    if data.len() < size_of::<CallDetail>() {
        return Err(damaged());
    }
    let (half, word) = (|at| half(data, at), |at| word(data, at));
    let (path, other) = (half(offset_of!(CallDetail, path)), half(offset_of!(CallDetail, other)));
    let other_at = size_of::<CallDetail>() + path as usize;
    let bytes_at = other_at + other as usize;
    if bytes_at as u64 + header.len != data.len() as u64 {
        return Err(damaged());
    }
    let text = |from: usize, to: usize| PathBuf::from(OsStr::from_bytes(&data[from..to]));
    // Paths begin with the slash of the root.
    let relative = |path: PathBuf| path.strip_prefix("/").map_or(path.clone(), PathBuf::from);
    let path = relative(text(size_of::<CallDetail>(), other_at));
    let other = || text(other_at, bytes_at);
    let bytes = || data.slice(bytes_at..);
    let flags = half(offset_of!(CallDetail, flags));
    let (position, length) =
        (word(offset_of!(CallDetail, position)), word(offset_of!(CallDetail, length)));
    let kind = match header.sector {
        CALL_CREATE => KernelCallKind::Create,
        CALL_TMPFILE => KernelCallKind::CreateNameless,
        CALL_MKDIR => KernelCallKind::Mkdir,
        CALL_MKNOD => {
            let device = half(offset_of!(CallDetail, device));
            KernelCallKind::Mknod(device >> 20, device & 0xf_ffff)
        }
        CALL_SYMLINK => KernelCallKind::Symlink(other()),
        CALL_LINK => KernelCallKind::Link(relative(other())),
        CALL_UNLINK => KernelCallKind::Unlink,
        CALL_RMDIR => KernelCallKind::Rmdir,
        CALL_RENAME => {
            KernelCallKind::Rename(relative(other()), flags, (length != 0).then_some(length))
        }
        CALL_WRITE => KernelCallKind::Write(position, bytes()),
        CALL_ALLOCATE => KernelCallKind::Allocate(flags, position, length),
        CALL_CHANGE => KernelCallKind::Change(change(data, flags, position)),
        CALL_SET_ATTRIBUTE => KernelCallKind::SetAttribute(other(), bytes()),
        CALL_REMOVE_ATTRIBUTE => KernelCallKind::RemoveAttribute(other()),
        CALL_MAP => KernelCallKind::Map,
        CALL_SHARE => {
            KernelCallKind::Other("blocks shared between files, by ioctl or copy_file_range, of")
        }
        CALL_FLAGS => KernelCallKind::Other("flags set by ioctl (chattr) of"),
        CALL_ACL => KernelCallKind::Other("an access control list of"),
        _ => return Err(damaged()),
    };
    let call = KernelCall {
        system: header.device,
        inode: header.request,
        nameless: header.flags & FLAG_NAMELESS != 0,
        path,
        mode: half(offset_of!(CallDetail, mode)),
        owner: (half(offset_of!(CallDetail, uid)), half(offset_of!(CallDetail, gid))),
        kind,
    };
    if half(offset_of!(CallDetail, missing)) & CALL_INCOMPLETE != 0 {
        let text = format!(
            "not everything that a call wrote was observed ({call}): asynchronous direct writes \
             and paths of more than 4095 bytes are not followed"
        );
        return Err(StepError::new(text).blame(Blame::Tool));
    }
    Ok(call)
}

/// Returns the four bytes at an offset. The caller has checked the length.
fn half(data: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(data[at..at + 4].try_into().expect("four bytes of what is long enough"))
}

/// Returns the eight bytes at an offset. The caller has checked the length.
fn word(data: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(data[at..at + 8].try_into().expect("eight bytes of what is long enough"))
}

/// Decodes a change of attributes.
fn change(data: &[u8], flags: u32, size: u64) -> AttributeChange {
    let has = |bits: u32| flags & bits != 0;
    let time =
        |seconds: usize, nanoseconds: usize| (word(data, seconds) as i64, half(data, nanoseconds));
    let times = [
        time(offset_of!(CallDetail, atime), offset_of!(CallDetail, atime_nsec)),
        time(offset_of!(CallDetail, mtime), offset_of!(CallDetail, mtime_nsec)),
    ];
    AttributeChange {
        size: has(CHANGED_SIZE).then_some(size),
        access: has(CHANGED_MODE | CHANGED_OWNER),
        times: has(CHANGED_TIMES).then_some(times),
    }
}
