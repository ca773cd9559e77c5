//! The status of files.

use std::ffi::{c_char, c_int, c_uint};
use std::time::{SystemTime, UNIX_EPOCH};

use explode_ramdisk::files::{FileKind, FileNode, FileTimes, Result, TimedNode};
use libc::{stat as Stat, statx as Statx, statx_timestamp};
use nix::errno::Errno;

use super::define::{CallAnswer, bytes, on_fd, on_path};
use crate::walk::LastLink;

define! {
    fn stat(path: *const c_char, status: *mut Stat) -> c_int =
        status_of(libc::AT_FDCWD, path, status, 0);
    fn stat64(path: *const c_char, status: *mut Stat) -> c_int =
        status_of(libc::AT_FDCWD, path, status, 0);
    fn lstat(path: *const c_char, status: *mut Stat) -> c_int =
        status_of(libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fn lstat64(path: *const c_char, status: *mut Stat) -> c_int =
        status_of(libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fn fstat(fd: c_int, status: *mut Stat) -> c_int = status_of_open(fd, status);
    fn fstat64(fd: c_int, status: *mut Stat) -> c_int = status_of_open(fd, status);
    fn fstatat(directory: c_int, path: *const c_char, status: *mut Stat, flags: c_int) -> c_int =
        status_of(directory, path, status, flags);
    fn fstatat64(directory: c_int, path: *const c_char, status: *mut Stat, flags: c_int) -> c_int =
        status_of(directory, path, status, flags);
    fn __xstat(_version: c_int, path: *const c_char, status: *mut Stat) -> c_int =
        status_of(libc::AT_FDCWD, path, status, 0);
    fn __xstat64(_version: c_int, path: *const c_char, status: *mut Stat) -> c_int =
        status_of(libc::AT_FDCWD, path, status, 0);
    fn __lxstat(_version: c_int, path: *const c_char, status: *mut Stat) -> c_int =
        status_of(libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fn __lxstat64(_version: c_int, path: *const c_char, status: *mut Stat) -> c_int =
        status_of(libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fn __fxstat(_version: c_int, fd: c_int, status: *mut Stat) -> c_int =
        status_of_open(fd, status);
    fn __fxstat64(_version: c_int, fd: c_int, status: *mut Stat) -> c_int =
        status_of_open(fd, status);
    fn statx(
        directory: c_int, path: *const c_char, flags: c_int, _mask: c_uint, status: *mut Statx,
    ) -> c_int = extended_status(directory, path, flags, status);
}

/// The number of the device of simulated files.
const DEVICE: u64 = 0xec;
/// The size of a block.
const BLOCK: u64 = 4096;

/// Returns the node that a call for the status names.
///
/// # Safety
/// That of [`bytes`].
unsafe fn node(directory: c_int, path: *const c_char, flags: c_int) -> CallAnswer<TimedNode> {
    // SAFETY: That of this function. Linux allows a null pointer for an empty path.
    let is_empty = unsafe { bytes(path) }.is_none_or(<[u8]>::is_empty);
    if is_empty && flags & libc::AT_EMPTY_PATH != 0 {
        return open_node(directory);
    }
    let keep = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    let last = if keep { LastLink::Keep } else { LastLink::Follow };
    // SAFETY: That of this function.
    unsafe { on_path(directory, path, |folder, route| folder.status(route, last)) }
}

fn open_node(fd: c_int) -> CallAnswer<TimedNode> {
    on_fd(fd, |folder, id| {
        let node = folder.opened(id)?.node;
        folder.files.node(node)
    })
}

/// # Safety
/// That of fstatat(2).
unsafe fn status_of(
    directory: c_int,
    path: *const c_char,
    status: *mut Stat,
    flags: c_int,
) -> CallAnswer<()> {
    // SAFETY: That of this function.
    let node = unsafe { node(directory, path, flags) }?;
    // SAFETY: That of this function.
    Some(node.and_then(|node| unsafe { fill(status, node) }))
}

/// # Safety
/// That of fstat(2).
unsafe fn status_of_open(fd: c_int, status: *mut Stat) -> CallAnswer<()> {
    // SAFETY: That of this function.
    Some(open_node(fd)?.and_then(|node| unsafe { fill(status, node) }))
}

/// Returns the type and the permissions of a node.
fn mode(FileNode { stat, access }: FileNode) -> u32 {
    let kind = match stat.kind {
        FileKind::File => libc::S_IFREG,
        FileKind::Directory => libc::S_IFDIR,
        FileKind::Symlink => libc::S_IFLNK,
    };
    kind | access.mode
}

/// Returns the number of names of a node. 1 means an unknown number of subdirectories.
fn links(node: FileNode) -> u32 {
    if node.stat.kind == FileKind::Directory { 1 } else { node.stat.links }
}

/// Returns the seconds and nanoseconds since 1970.
fn time(time: SystemTime) -> (i64, u32) {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
        Err(before) => (-(before.duration().as_secs() as i64), 0),
    }
}

/// # Safety
/// The pointer leads to a place for a status.
unsafe fn fill(status: *mut Stat, TimedNode { node, times }: TimedNode) -> Result<()> {
    // SAFETY: All bits zero are a status.
    let mut filled: Stat = unsafe { std::mem::zeroed() };
    let FileTimes { accessed, modified, changed } = times;
    filled.st_dev = DEVICE;
    filled.st_ino = u64::from(node.stat.inode) + 1;
    filled.st_mode = mode(node);
    filled.st_nlink = links(node).into();
    (filled.st_uid, filled.st_gid) = (node.access.user, node.access.group);
    filled.st_size = node.stat.size as i64;
    filled.st_blksize = BLOCK as _;
    filled.st_blocks = blocks(node) as i64;
    let nanos = |time: SystemTime| {
        let (seconds, nanos) = self::time(time);
        (seconds, i64::from(nanos))
    };
    (filled.st_atime, filled.st_atime_nsec) = nanos(accessed);
    (filled.st_mtime, filled.st_mtime_nsec) = nanos(modified);
    (filled.st_ctime, filled.st_ctime_nsec) = nanos(changed);
    // SAFETY: That of this function.
    unsafe { put(status, filled) }
}

fn blocks(node: FileNode) -> u64 {
    node.stat.size.div_ceil(BLOCK) * (BLOCK / 512)
}

/// # Safety
/// The pointer is null or leads to a place for a value.
unsafe fn put<T>(place: *mut T, value: T) -> Result<()> {
    if place.is_null() {
        return Err(Errno::EFAULT);
    }
    // SAFETY: That of this function.
    unsafe { place.write(value) };
    Ok(())
}

/// # Safety
/// That of statx(2).
unsafe fn extended_status(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    status: *mut Statx,
) -> CallAnswer<()> {
    // SAFETY: That of this function.
    let found = unsafe { node(directory, path, flags) }?;
    Some(found.and_then(|TimedNode { node, times }| {
        // SAFETY: All bits zero are a status.
        let mut filled: Statx = unsafe { std::mem::zeroed() };
        let stamp = |moment: SystemTime| {
            // SAFETY: All bits zero are a time.
            let mut stamp: statx_timestamp = unsafe { std::mem::zeroed() };
            (stamp.tv_sec, stamp.tv_nsec) = time(moment);
            stamp
        };
        filled.stx_mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
        filled.stx_blksize = BLOCK as u32;
        filled.stx_nlink = links(node);
        (filled.stx_uid, filled.stx_gid) = (node.access.user, node.access.group);
        filled.stx_mode = mode(node) as u16;
        filled.stx_ino = u64::from(node.stat.inode) + 1;
        filled.stx_size = node.stat.size;
        filled.stx_blocks = blocks(node);
        filled.stx_atime = stamp(times.accessed);
        filled.stx_btime = stamp(times.changed);
        filled.stx_ctime = stamp(times.changed);
        filled.stx_mtime = stamp(times.modified);
        filled.stx_dev_minor = DEVICE as u32;
        // SAFETY: That of this function.
        unsafe { put(status, filled) }
    }))
}
