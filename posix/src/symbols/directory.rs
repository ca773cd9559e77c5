//! Reading directories.

use std::collections::HashSet;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use explode_ramdisk::files::{FileKind, Result};
use libc::{AT_FDCWD, DIR, dirent, dirent64};
use nix::errno::Errno;

use super::define::{CallAnswer, on_fd};
use super::open::opened;

define! {
    fn opendir(path: *const c_char) -> *mut DIR = opened_stream(path);
    fn fdopendir(fd: c_int) -> *mut DIR = stream_of(fd);
    fn readdir(stream: *mut DIR) -> *mut dirent = next_32(stream);
    fn readdir64(stream: *mut DIR) -> *mut dirent64 = next(stream);
    fn rewinddir(stream: *mut DIR) -> () = rewound(stream);
    fn closedir(stream: *mut DIR) -> c_int = closed(stream);
    fn dirfd(stream: *mut DIR) -> c_int = descriptor(stream);
}

/// An open directory. A pointer to it stands for a `DIR`.
struct Stream {
    fd: c_int,
    /// The names with their kinds and numbers. `None` until the first is asked for.
    entries: Option<Vec<(String, u8, u64)>>,
    next: usize,
    /// The entry that was returned last.
    entry: dirent64,
}

/// The addresses of our streams.
static STREAMS: OnceLock<Mutex<HashSet<usize>>> = OnceLock::new();
/// The number of our streams.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn streams() -> MutexGuard<'static, HashSet<usize>> {
    STREAMS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns our directory behind a `DIR`. `None` if it is one of the C library.
///
/// # Safety
/// No other thread uses the stream.
unsafe fn ours<'s>(stream: *mut DIR) -> Option<&'s mut Stream> {
    if COUNT.load(Ordering::Acquire) == 0 || !streams().contains(&(stream as usize)) {
        return None;
    }
    // SAFETY: The set holds only addresses of streams that `stream_of` has made.
    unsafe { stream.cast::<Stream>().as_mut() }
}

/// # Safety
/// That of opendir(3).
unsafe fn opened_stream(path: *const c_char) -> CallAnswer<*mut DIR> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: That of this function.
    let fd = unsafe { opened(AT_FDCWD, path, flags, 0) }?;
    match fd {
        Ok(fd) => stream_of(fd),
        Err(errno) => Some(Err(errno)),
    }
}

fn stream_of(fd: c_int) -> CallAnswer<*mut DIR> {
    let kind = on_fd(fd, |folder, id| Ok(folder.opened(id)?.kind))?;
    Some(kind.and_then(|kind| {
        if kind != FileKind::Directory {
            return Err(Errno::ENOTDIR);
        }
        // SAFETY: All bits zero are an entry.
        let entry = unsafe { std::mem::zeroed() };
        let stream = Box::into_raw(Box::new(Stream { fd, entries: None, next: 0, entry }));
        streams().insert(stream as usize);
        COUNT.fetch_add(1, Ordering::Release);
        Ok(stream.cast())
    }))
}

/// Returns the names in a directory, `.` and `..` first.
fn entries(fd: c_int) -> Result<Vec<(String, u8, u64)>> {
    let found = on_fd(fd, |folder, id| {
        let directory = folder.opened(id)?.node;
        Ok((directory, folder.files.entries(directory)?))
    });
    let (directory, found) = found.unwrap_or(Err(Errno::EBADF))?;
    let dots = [".", ".."].map(|name| (name.to_owned(), libc::DT_DIR, u64::from(directory) + 1));
    let kind = |kind| match kind {
        FileKind::File => libc::DT_REG,
        FileKind::Directory => libc::DT_DIR,
        FileKind::Symlink => libc::DT_LNK,
    };
    let found = found.into_iter().map(|at| (at.name, kind(at.kind), u64::from(at.inode) + 1));
    Ok(dots.into_iter().chain(found).collect())
}

/// # Safety
/// That of readdir(3).
unsafe fn next(stream: *mut DIR) -> CallAnswer<*mut dirent64> {
    // SAFETY: That of this function.
    let stream = unsafe { ours(stream) }?;
    if stream.entries.is_none() {
        match entries(stream.fd) {
            Ok(entries) => stream.entries = Some(entries),
            Err(errno) => return Some(Err(errno)),
        }
    }
    let Some((name, kind, inode)) = stream.entries.iter().flatten().nth(stream.next) else {
        return Some(Ok(std::ptr::null_mut()));
    };
    stream.next += 1;
    let entry = &mut stream.entry;
    (entry.d_ino, entry.d_type, entry.d_off) = (*inode, *kind, stream.next as i64);
    entry.d_reclen = size_of::<dirent64>() as u16;
    for (place, byte) in entry.d_name.iter_mut().zip(name.bytes().chain([0])) {
        *place = byte as c_char;
    }
    Some(Ok(entry))
}

/// The two types of entries are the same on 64-bit machines.
///
/// # Safety
/// That of readdir(3).
unsafe fn next_32(stream: *mut DIR) -> CallAnswer<*mut dirent> {
    // SAFETY: That of this function.
    unsafe { next(stream) }.map(|entry| entry.map(<*mut dirent64>::cast))
}

/// Starts again with the present names.
///
/// # Safety
/// That of rewinddir(3).
unsafe fn rewound(stream: *mut DIR) -> CallAnswer<()> {
    // SAFETY: That of this function.
    let stream = unsafe { ours(stream) }?;
    (stream.entries, stream.next) = (None, 0);
    Some(Ok(()))
}

/// # Safety
/// That of closedir(3).
unsafe fn closed(stream: *mut DIR) -> CallAnswer<c_int> {
    // SAFETY: That of this function.
    unsafe { ours(stream) }?;
    streams().remove(&(stream as usize));
    COUNT.fetch_sub(1, Ordering::Release);
    // SAFETY: `stream_of` has made the box, and the set held it until now.
    let closed = unsafe { Box::from_raw(stream.cast::<Stream>()) };
    // SAFETY: The stream owned the descriptor.
    Some(Errno::result(unsafe { libc::close(closed.fd) }))
}

/// # Safety
/// That of dirfd(3).
unsafe fn descriptor(stream: *mut DIR) -> CallAnswer<c_int> {
    // SAFETY: That of this function.
    unsafe { ours(stream) }.map(|stream| Ok(stream.fd))
}
