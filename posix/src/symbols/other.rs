//! Modes, owners, times, access, and the status of the file system.

use std::ffi::{c_char, c_int};

use explode_ramdisk::files::{NewTime, NodeChange, Result};
use libc::{AT_FDCWD, AT_SYMLINK_NOFOLLOW, gid_t, mode_t, off_t, timespec, uid_t};
use nix::errno::Errno;

use super::define::{CallAnswer, bytes, on_fd, on_path};
use crate::folder::{StoreFiles, new_time};
use crate::walk::LastLink;

define! {
    fn chmod(path: *const c_char, mode: mode_t) -> c_int =
        changed(AT_FDCWD, path, 0, with_mode(mode));
    fn fchmod(fd: c_int, mode: mode_t) -> c_int = changed_open(fd, with_mode(mode));
    fn fchmodat(directory: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int =
        changed(directory, path, flags, with_mode(mode));
    fn chown(path: *const c_char, user: uid_t, group: gid_t) -> c_int =
        changed(AT_FDCWD, path, 0, with_owner(user, group));
    fn lchown(path: *const c_char, user: uid_t, group: gid_t) -> c_int =
        changed(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, with_owner(user, group));
    fn fchown(fd: c_int, user: uid_t, group: gid_t) -> c_int =
        changed_open(fd, with_owner(user, group));
    fn fchownat(
        directory: c_int, path: *const c_char, user: uid_t, group: gid_t, flags: c_int,
    ) -> c_int = changed(directory, path, flags, with_owner(user, group));
    fn futimens(fd: c_int, times: *const timespec) -> c_int = timed_open(fd, times);
    fn utimensat(
        directory: c_int, path: *const c_char, times: *const timespec, flags: c_int,
    ) -> c_int = timed(directory, path, times, flags);
    fn truncate(path: *const c_char, size: off_t) -> c_int =
        on_path(AT_FDCWD, path, |folder, route| folder.truncate_path(route, size));
    fn truncate64(path: *const c_char, size: off_t) -> c_int =
        on_path(AT_FDCWD, path, |folder, route| folder.truncate_path(route, size));
    fn access(path: *const c_char, _mode: c_int) -> c_int = reached(AT_FDCWD, path);
    fn faccessat(directory: c_int, path: *const c_char, _mode: c_int, _flags: c_int) -> c_int =
        reached(directory, path);
    fn statfs(path: *const c_char, status: *mut libc::statfs) -> c_int =
        space_at(path, || fill_statfs(status));
    fn statfs64(path: *const c_char, status: *mut libc::statfs) -> c_int =
        space_at(path, || fill_statfs(status));
    fn fstatfs(fd: c_int, status: *mut libc::statfs) -> c_int =
        on_fd(fd, |_, _| fill_statfs(status));
    fn fstatfs64(fd: c_int, status: *mut libc::statfs) -> c_int =
        on_fd(fd, |_, _| fill_statfs(status));
    fn statvfs(path: *const c_char, status: *mut libc::statvfs) -> c_int =
        space_at(path, || fill_statvfs(status));
    fn statvfs64(path: *const c_char, status: *mut libc::statvfs) -> c_int =
        space_at(path, || fill_statvfs(status));
    fn fstatvfs(fd: c_int, status: *mut libc::statvfs) -> c_int =
        on_fd(fd, |_, _| fill_statvfs(status));
    fn fstatvfs64(fd: c_int, status: *mut libc::statvfs) -> c_int =
        on_fd(fd, |_, _| fill_statvfs(status));
}

fn with_mode(mode: mode_t) -> NodeChange {
    NodeChange { mode: Some(mode), ..NodeChange::default() }
}

fn with_owner(user: uid_t, group: gid_t) -> NodeChange {
    let given = |id: u32| (id != u32::MAX).then_some(id);
    NodeChange { user: given(user), group: given(group), ..NodeChange::default() }
}

/// Returns the change to two times. No times are the present one.
///
/// # Safety
/// The pointer is null or leads to two times.
unsafe fn with_times(times: *const timespec) -> Result<NodeChange> {
    let (accessed, modified) = if times.is_null() {
        (Some(NewTime::Now), Some(NewTime::Now))
    } else {
        // SAFETY: That of this function.
        let times = unsafe { std::slice::from_raw_parts(times, 2) };
        (new_time(&times[0])?, new_time(&times[1])?)
    };
    Ok(NodeChange { accessed, modified, ..NodeChange::default() })
}

/// # Safety
/// That of [`bytes`].
unsafe fn changed(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    change: NodeChange,
) -> CallAnswer<()> {
    let keep = flags & AT_SYMLINK_NOFOLLOW != 0;
    let last = if keep { LastLink::Keep } else { LastLink::Follow };
    let call = |folder: &mut StoreFiles, route: &_| {
        let node = folder.status(route, last)?.node.stat.inode;
        folder.change(node, change)
    };
    // SAFETY: That of this function.
    unsafe { on_path(directory, path, call) }
}

fn changed_open(fd: c_int, change: NodeChange) -> CallAnswer<()> {
    on_fd(fd, |folder, id| {
        let node = folder.opened(id)?.node;
        folder.change(node, change)
    })
}

/// # Safety
/// That of futimens(3).
unsafe fn timed_open(fd: c_int, times: *const timespec) -> CallAnswer<()> {
    // SAFETY: That of this function.
    match unsafe { with_times(times) } {
        Ok(change) => changed_open(fd, change),
        Err(errno) => on_fd(fd, |_, _| Err(errno)),
    }
}

/// # Safety
/// That of utimensat(2).
unsafe fn timed(
    directory: c_int,
    path: *const c_char,
    times: *const timespec,
    flags: c_int,
) -> CallAnswer<()> {
    // SAFETY: That of this function.
    let (is_open, change) = unsafe { (bytes(path).is_none(), with_times(times)) };
    match change {
        Ok(change) if is_open => changed_open(directory, change),
        // SAFETY: That of this function.
        Ok(change) => unsafe { changed(directory, path, flags, change) },
        // SAFETY: That of this function.
        Err(errno) => unsafe { on_path(directory, path, |_, _| Err(errno)) },
    }
}

/// Returns the answer to a question for access: all that exists may be read, written and executed.
///
/// # Safety
/// That of [`bytes`].
unsafe fn reached(directory: c_int, path: *const c_char) -> CallAnswer<()> {
    let reach =
        |folder: &mut StoreFiles, route: &_| folder.status(route, LastLink::Follow).map(drop);
    // SAFETY: That of this function.
    unsafe { on_path(directory, path, reach) }
}

/// # Safety
/// That of [`bytes`].
unsafe fn space_at(path: *const c_char, fill: impl FnOnce() -> Result<()>) -> CallAnswer<()> {
    let fill = |folder: &mut StoreFiles, route: &_| {
        folder.status(route, LastLink::Follow)?;
        fill()
    };
    // SAFETY: That of this function.
    unsafe { on_path(AT_FDCWD, path, fill) }
}

/// The size of a block in bytes, the number of blocks, and the number of nodes.
const SPACE: (u64, u64, u64) = (4096, 1 << 28, 1 << 20);

fn fill_statfs(status: *mut libc::statfs) -> Result<()> {
    // SAFETY: All bits zero are a status.
    let mut filled: libc::statfs = unsafe { std::mem::zeroed() };
    let (block, blocks, nodes) = SPACE;
    filled.f_type = libc::TMPFS_MAGIC;
    (filled.f_bsize, filled.f_frsize, filled.f_namelen) = (block as _, block as _, 255);
    (filled.f_blocks, filled.f_bfree, filled.f_bavail) = (blocks, blocks, blocks);
    (filled.f_files, filled.f_ffree) = (nodes, nodes);
    if status.is_null() {
        return Err(Errno::EFAULT);
    }
    // SAFETY: The caller of statfs(2) has a place for the status.
    unsafe { status.write(filled) };
    Ok(())
}

fn fill_statvfs(status: *mut libc::statvfs) -> Result<()> {
    // SAFETY: All bits zero are a status.
    let mut filled: libc::statvfs = unsafe { std::mem::zeroed() };
    let (block, blocks, nodes) = SPACE;
    (filled.f_bsize, filled.f_frsize, filled.f_namemax) = (block, block, 255);
    (filled.f_blocks, filled.f_bfree, filled.f_bavail) = (blocks, blocks, blocks);
    (filled.f_files, filled.f_ffree, filled.f_favail) = (nodes, nodes, nodes);
    if status.is_null() {
        return Err(Errno::EFAULT);
    }
    // SAFETY: The caller of statvfs(3) has a place for the status.
    unsafe { status.write(filled) };
    Ok(())
}
