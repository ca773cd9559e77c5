//! Names: making, removing and moving them.

use std::ffi::{c_char, c_int, c_uint};

use explode_ramdisk::files::{FileKind, Renaming};
use libc::{AT_FDCWD, mode_t};
use nix::errno::Errno;

use super::define::{CallAnswer, on_path, on_paths, text};
use super::open::MASK;
use crate::walk::LastLink;

define! {
    fn mkdir(path: *const c_char, mode: mode_t) -> c_int = made(AT_FDCWD, path, mode);
    fn mkdirat(directory: c_int, path: *const c_char, mode: mode_t) -> c_int =
        made(directory, path, mode);
    fn rmdir(path: *const c_char) -> c_int =
        on_path(AT_FDCWD, path, |folder, route| folder.rmdir(route));
    fn unlink(path: *const c_char) -> c_int =
        on_path(AT_FDCWD, path, |folder, route| folder.unlink(route));
    fn unlinkat(directory: c_int, path: *const c_char, flags: c_int) -> c_int =
        on_path(directory, path, |folder, route| match flags & libc::AT_REMOVEDIR {
            0 => folder.unlink(route),
            _ => folder.rmdir(route),
        });
    fn remove(path: *const c_char) -> c_int = on_path(AT_FDCWD, path, |folder, route| {
        match folder.status(route, LastLink::Keep)?.node.stat.kind {
            FileKind::Directory => folder.rmdir(route),
            FileKind::File | FileKind::Symlink => folder.unlink(route),
        }
    });
    fn rename(from: *const c_char, to: *const c_char) -> c_int =
        renamed((AT_FDCWD, from), (AT_FDCWD, to), 0);
    fn renameat(
        from_directory: c_int, from: *const c_char, to_directory: c_int, to: *const c_char,
    ) -> c_int = renamed((from_directory, from), (to_directory, to), 0);
    fn renameat2(
        from_directory: c_int, from: *const c_char, to_directory: c_int, to: *const c_char,
        flags: c_uint,
    ) -> c_int = renamed((from_directory, from), (to_directory, to), flags);
    fn link(from: *const c_char, to: *const c_char) -> c_int =
        linked((AT_FDCWD, from), (AT_FDCWD, to), 0);
    fn linkat(
        from_directory: c_int, from: *const c_char, to_directory: c_int, to: *const c_char,
        flags: c_int,
    ) -> c_int = linked((from_directory, from), (to_directory, to), flags);
    fn symlink(target: *const c_char, path: *const c_char) -> c_int =
        symlinked(target, AT_FDCWD, path);
    fn symlinkat(target: *const c_char, directory: c_int, path: *const c_char) -> c_int =
        symlinked(target, directory, path);
    fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> isize =
        target(AT_FDCWD, path, buffer, size);
    fn readlinkat(
        directory: c_int, path: *const c_char, buffer: *mut c_char, size: usize,
    ) -> isize = target(directory, path, buffer, size);
    fn realpath(path: *const c_char, buffer: *mut c_char) -> *mut c_char =
        real_path(path, buffer);
}

type PathArgument = (c_int, *const c_char);

/// # Safety
/// That of mkdirat(2).
unsafe fn made(directory: c_int, path: *const c_char, mode: mode_t) -> CallAnswer<()> {
    // SAFETY: That of this function.
    unsafe { on_path(directory, path, |folder, route| folder.mkdir(route, mode & !MASK)) }
}

/// # Safety
/// That of renameat2(2).
unsafe fn renamed(from: PathArgument, to: PathArgument, flags: c_uint) -> CallAnswer<()> {
    let how = match flags {
        0 => Ok(None),
        libc::RENAME_NOREPLACE => Ok(Some(Renaming::NoReplace)),
        libc::RENAME_EXCHANGE => Ok(Some(Renaming::Exchange)),
        _ => Err(Errno::EINVAL),
    };
    // SAFETY: That of this function.
    unsafe { on_paths(from, to, |folder, from, to| folder.rename(from, to, how?)) }
}

/// # Safety
/// That of linkat(2).
unsafe fn linked(from: PathArgument, to: PathArgument, flags: c_int) -> CallAnswer<()> {
    let last = match flags & libc::AT_SYMLINK_FOLLOW {
        0 => LastLink::Keep,
        _ => LastLink::Follow,
    };
    // SAFETY: That of this function.
    unsafe { on_paths(from, to, |folder, from, to| folder.link(from, to, last)) }
}

/// # Safety
/// That of symlinkat(2).
unsafe fn symlinked(
    target: *const c_char,
    directory: c_int,
    path: *const c_char,
) -> CallAnswer<()> {
    // SAFETY: That of this function.
    let target = unsafe { text(target) };
    // SAFETY: That of this function.
    unsafe { on_path(directory, path, |folder, route| folder.symlink(target?, route)) }
}

/// # Safety
/// That of readlinkat(2).
unsafe fn target(
    directory: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    size: usize,
) -> CallAnswer<usize> {
    // SAFETY: That of this function.
    let target = unsafe { on_path(directory, path, |folder, route| folder.target(route)) }?;
    Some(target.map(|target| {
        let count = target.len().min(size);
        // SAFETY: The caller's buffer has `size` bytes.
        unsafe { std::ptr::copy_nonoverlapping(target.as_ptr(), buffer.cast(), count) };
        count
    }))
}

/// # Safety
/// That of realpath(3).
unsafe fn real_path(path: *const c_char, buffer: *mut c_char) -> CallAnswer<*mut c_char> {
    // SAFETY: That of this function.
    let real = unsafe { on_path(AT_FDCWD, path, |folder, route| folder.real_path(route)) }?;
    Some(real.and_then(|real| {
        let mut bytes = real.into_bytes();
        bytes.push(0);
        if bytes.len() > libc::PATH_MAX as usize {
            return Err(Errno::ENAMETOOLONG);
        }
        let buffer = match buffer.is_null() {
            // SAFETY: malloc has no requirements. The caller frees the result.
            true => unsafe { libc::malloc(bytes.len()) }.cast(),
            false => buffer,
        };
        if buffer.is_null() {
            return Err(Errno::ENOMEM);
        }
        // SAFETY: A caller's buffer has PATH_MAX bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast(), bytes.len()) };
        Ok(buffer)
    }))
}
