//! Opening and closing.

use std::ffi::{c_char, c_int};

use explode_ramdisk::files::{Result, WriteMethod};
use libc::mode_t;
use nix::errno::Errno;

use super::define::{CallAnswer, Place, place};
use crate::descriptors;
use crate::folder::{OpenMode, Opening};
use crate::walk::LastLink;

/// The file mode creation mask of the store (umask(2)), the same on every machine.
pub const MASK: mode_t = 0o022;

define! {
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int =
        opened(libc::AT_FDCWD, path, flags, mode);
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int =
        opened(libc::AT_FDCWD, path, flags, mode);
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int =
        opened(directory, path, flags, mode);
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int =
        opened(directory, path, flags, mode);
    fn creat(path: *const c_char, mode: mode_t) -> c_int =
        opened(libc::AT_FDCWD, path, CREAT, mode);
    fn creat64(path: *const c_char, mode: mode_t) -> c_int =
        opened(libc::AT_FDCWD, path, CREAT, mode);
    fn close(fd: c_int) -> c_int = closed(fd);
}

const CREAT: c_int = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;

/// Returns what the flags of open(2) ask for.
fn opening(flags: c_int, mode: mode_t) -> Result<Opening> {
    let has = |flag| flags & flag == flag;
    let (read, write) = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => (true, false),
        libc::O_WRONLY => (false, true),
        libc::O_RDWR => (true, true),
        _ => return Err(Errno::EINVAL),
    };
    if has(libc::O_TMPFILE) {
        return Err(Errno::EOPNOTSUPP);
    }
    let method = match () {
        () if has(libc::O_SYNC) => WriteMethod::Synced,
        () if has(libc::O_DSYNC) => WriteMethod::DataSynced,
        () if has(libc::O_DIRECT) => WriteMethod::Direct,
        () if has(libc::O_APPEND) => WriteMethod::Appended,
        () => WriteMethod::Plain,
    };
    let path_only = has(libc::O_PATH);
    let kept = libc::O_ACCMODE | libc::O_APPEND | libc::O_DSYNC | libc::O_SYNC | libc::O_DIRECT;
    Ok(Opening {
        mode: OpenMode {
            read: read && !path_only,
            write: write && !path_only,
            append: has(libc::O_APPEND),
            method,
            flags: flags & kept,
        },
        create: has(libc::O_CREAT),
        exclusive: has(libc::O_EXCL),
        truncate: has(libc::O_TRUNC),
        must_be_directory: has(libc::O_DIRECTORY),
        last: if has(libc::O_NOFOLLOW) { LastLink::Keep } else { LastLink::Follow },
        permissions: mode & !MASK,
    })
}

/// Opens a path.
///
/// # Safety
/// That of open(2).
pub(super) unsafe fn opened(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> CallAnswer<c_int> {
    // SAFETY: That of this function.
    let Place { home, route } = unsafe { place(directory, path) }?;
    Some(route.and_then(|route| {
        let opening = opening(flags, mode)?;
        let id = home.with(|folder| folder.open(&route, &opening))?;
        descriptors::new(home.clone(), id).inspect_err(|_| {
            home.with(|folder| folder.close(id)).ok();
        })
    }))
}

/// Closes a descriptor, and then its placeholder by the C library's function.
fn closed(fd: c_int) -> CallAnswer<c_int> {
    drop(descriptors::remove(fd));
    None
}
