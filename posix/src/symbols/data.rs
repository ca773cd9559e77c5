//! Reading, writing and syncing.

use std::ffi::{c_int, c_void};

use explode_ramdisk::files::{FsCall, Result};
use libc::{iovec, off_t};
use nix::errno::Errno;

use super::define::{CallAnswer, on_fd, opened};
use crate::folder::{IoPosition, StoreFiles};
use crate::owner::Home;

define! {
    fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize =
        read_at(fd, buffer, count, IoPosition::Current);
    fn pread(fd: c_int, buffer: *mut c_void, count: usize, offset: off_t) -> isize =
        read_at(fd, buffer, count, at(offset));
    fn pread64(fd: c_int, buffer: *mut c_void, count: usize, offset: off_t) -> isize =
        read_at(fd, buffer, count, at(offset));
    fn readv(fd: c_int, parts: *const iovec, count: c_int) -> isize =
        read_parts(fd, parts, count, IoPosition::Current);
    fn preadv(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> isize =
        read_parts(fd, parts, count, at(offset));
    fn preadv64(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> isize =
        read_parts(fd, parts, count, at(offset));
    fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize =
        write_at(fd, buffer, count, IoPosition::Current);
    fn pwrite(fd: c_int, buffer: *const c_void, count: usize, offset: off_t) -> isize =
        write_at(fd, buffer, count, at(offset));
    fn pwrite64(fd: c_int, buffer: *const c_void, count: usize, offset: off_t) -> isize =
        write_at(fd, buffer, count, at(offset));
    fn writev(fd: c_int, parts: *const iovec, count: c_int) -> isize =
        write_parts(fd, parts, count, IoPosition::Current);
    fn pwritev(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> isize =
        write_parts(fd, parts, count, at(offset));
    fn pwritev64(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> isize =
        write_parts(fd, parts, count, at(offset));
    fn lseek(fd: c_int, offset: off_t, whence: c_int) -> off_t =
        on_fd(fd, |folder, id| folder.seek(id, offset, whence));
    fn lseek64(fd: c_int, offset: off_t, whence: c_int) -> off_t =
        on_fd(fd, |folder, id| folder.seek(id, offset, whence));
    fn ftruncate(fd: c_int, size: off_t) -> c_int =
        on_fd(fd, |folder, id| folder.truncate(id, size));
    fn ftruncate64(fd: c_int, size: off_t) -> c_int =
        on_fd(fd, |folder, id| folder.truncate(id, size));
    fn fallocate(fd: c_int, mode: c_int, offset: off_t, len: off_t) -> c_int =
        on_fd(fd, |folder, id| folder.fallocate(id, mode, offset, len));
    fn fallocate64(fd: c_int, mode: c_int, offset: off_t, len: off_t) -> c_int =
        on_fd(fd, |folder, id| folder.fallocate(id, mode, offset, len));
    fn posix_fallocate(fd: c_int, offset: off_t, len: off_t) -> c_int =
        allocated(fd, offset, len);
    fn posix_fallocate64(fd: c_int, offset: off_t, len: off_t) -> c_int =
        allocated(fd, offset, len);
    fn posix_fadvise(fd: c_int, _offset: off_t, _len: off_t, _advice: c_int) -> c_int =
        on_fd(fd, |_, _| Ok(()));
    fn posix_fadvise64(fd: c_int, _offset: off_t, _len: off_t, _advice: c_int) -> c_int =
        on_fd(fd, |_, _| Ok(()));
    fn readahead(fd: c_int, _offset: off_t, _count: usize) -> isize =
        on_fd(fd, |_, _| Ok(0_usize));
    fn fsync(fd: c_int) -> c_int = on_fd(fd, |folder, id| folder.sync(id, false));
    fn fdatasync(fd: c_int) -> c_int = on_fd(fd, |folder, id| folder.sync(id, true));
    fn sync_file_range(fd: c_int, _offset: off_t, _len: off_t, _flags: libc::c_uint) -> c_int =
        on_fd(fd, |_, _| Ok(()));
    fn sync() -> () = synced();
    fn syncfs(fd: c_int) -> c_int = on_fd(fd, |folder, _| folder.files.sync_all(FsCall::Syncfs));
    fn copy_file_range(
        from: c_int, from_at: *mut off_t, to: c_int, to_at: *mut off_t, len: usize,
        flags: libc::c_uint,
    ) -> isize = copied((from, from_at), (to, to_at), len, flags, Errno::EXDEV);
    fn sendfile(to: c_int, from: c_int, from_at: *mut off_t, len: usize) -> isize =
        sent(to, (from, from_at), len);
    fn sendfile64(to: c_int, from: c_int, from_at: *mut off_t, len: usize) -> isize =
        sent(to, (from, from_at), len);
}

/// Answers sync(2) of a thread of a store.
fn synced() -> CallAnswer<()> {
    let home = Home::current()?;
    Some(home.with(|folder| folder.files.sync_all(FsCall::Sync)))
}

/// Returns the place of a call with an offset. Its call fails if the offset is negative.
fn at(offset: off_t) -> IoPosition {
    IoPosition::At(offset as u64)
}

/// Returns `EINVAL` for an offset that was negative.
fn checked(position: IoPosition) -> Result<()> {
    match position {
        IoPosition::At(offset) if i64::try_from(offset).is_err() => Err(Errno::EINVAL),
        _ => Ok(()),
    }
}

/// # Safety
/// That of pread(2).
unsafe fn read_at(
    fd: c_int,
    buffer: *mut c_void,
    count: usize,
    position: IoPosition,
) -> CallAnswer<usize> {
    on_fd(fd, |folder, id| {
        checked(position)?;
        if count == 0 {
            return Ok(0);
        }
        // SAFETY: The caller's buffer has `count` bytes.
        let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), count) };
        folder.read(id, position, bytes)
    })
}

/// # Safety
/// That of pwrite(2).
unsafe fn write_at(
    fd: c_int,
    buffer: *const c_void,
    count: usize,
    position: IoPosition,
) -> CallAnswer<usize> {
    on_fd(fd, |folder, id| {
        checked(position)?;
        // SAFETY: The caller's buffer has `count` bytes.
        folder.write(id, position, unsafe { slice(buffer, count) })
    })
}

/// # Safety
/// The buffer has `count` bytes.
unsafe fn slice<'a>(buffer: *const c_void, count: usize) -> &'a [u8] {
    match count {
        0 => &[],
        // SAFETY: That of this function.
        _ => unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), count) },
    }
}

/// Returns the parts of a vector of buffers.
///
/// # Safety
/// `parts` has `count` elements.
unsafe fn parts<'a>(parts: *const iovec, count: c_int) -> Result<&'a [iovec]> {
    match usize::try_from(count) {
        Ok(0) => Ok(&[]),
        // SAFETY: That of this function.
        Ok(count) => Ok(unsafe { std::slice::from_raw_parts(parts, count) }),
        Err(_) => Err(Errno::EINVAL),
    }
}

/// # Safety
/// That of preadv(2).
unsafe fn read_parts(
    fd: c_int,
    buffers: *const iovec,
    count: c_int,
    position: IoPosition,
) -> CallAnswer<usize> {
    on_fd(fd, |folder, id| {
        checked(position)?;
        // SAFETY: That of this function.
        let buffers = unsafe { parts(buffers, count) }?;
        let mut bytes = vec![0; buffers.iter().map(|part| part.iov_len).sum()];
        let read = folder.read(id, position, &mut bytes)?;
        let mut rest = &bytes[..read];
        for part in buffers {
            let (now, later) = rest.split_at(part.iov_len.min(rest.len()));
            // SAFETY: The part has at least as many bytes.
            unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), part.iov_base.cast(), now.len()) };
            rest = later;
        }
        Ok(read)
    })
}

/// # Safety
/// That of pwritev(2).
unsafe fn write_parts(
    fd: c_int,
    buffers: *const iovec,
    count: c_int,
    position: IoPosition,
) -> CallAnswer<usize> {
    on_fd(fd, |folder, id| {
        checked(position)?;
        // SAFETY: That of this function.
        let buffers = unsafe { parts(buffers, count) }?;
        let mut bytes = Vec::new();
        for part in buffers {
            // SAFETY: The caller's buffers are as long as they say.
            bytes.extend_from_slice(unsafe { slice(part.iov_base, part.iov_len) });
        }
        folder.write(id, position, &bytes)
    })
}

/// posix_fallocate(3) returns the error instead of setting `errno`.
fn allocated(fd: c_int, offset: off_t, len: off_t) -> CallAnswer<c_int> {
    let done = on_fd(fd, |folder, id| folder.fallocate(id, 0, offset, len))?;
    Some(Ok(done.err().map_or(0, |errno| errno as c_int)))
}

/// Copies to the position of a file.
///
/// # Safety
/// That of sendfile(2).
unsafe fn sent(to: c_int, from: (c_int, *mut off_t), len: usize) -> CallAnswer<usize> {
    // SAFETY: That of this function.
    unsafe { copied(from, (to, std::ptr::null_mut()), len, 0, Errno::EINVAL) }
}

/// Copies between two open files. The error is `mixed` if only one of them is ours, so that callers
/// copy by reads and writes.
///
/// # Safety
/// That of copy_file_range(2).
unsafe fn copied(
    (from, from_at): (c_int, *mut off_t),
    (to, to_at): (c_int, *mut off_t),
    len: usize,
    flags: libc::c_uint,
    mixed: Errno,
) -> CallAnswer<usize> {
    let (source, target) = (opened(from), opened(to));
    let (source, target) = match (source, target) {
        (None, None) => return None,
        (Some(source), Some(target)) if source.home.is(&target.home) => (source, target),
        _ => return Some(Err(mixed)),
    };
    if flags != 0 {
        return Some(Err(Errno::EINVAL));
    }
    // SAFETY: The pointers are null or lead to offsets.
    let offset = |place: *mut off_t| unsafe { place.as_ref() }.copied();
    let position = |place| offset(place).map_or(IoPosition::Current, at);
    let copy = |folder: &mut StoreFiles| {
        let (from, to) = ((source.id, position(from_at)), (target.id, position(to_at)));
        folder.copy(from, to, len)
    };
    let copied = source.home.with(copy);
    if let Ok(count) = copied {
        for place in [from_at, to_at] {
            // SAFETY: The pointers are null or lead to offsets.
            if let Some(offset) = unsafe { place.as_mut() } {
                *offset += count as off_t;
            }
        }
    }
    Some(copied)
}
