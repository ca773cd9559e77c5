//! Descriptors and locks.

use std::ffi::{c_int, c_ulong};
use std::sync::Arc;

use explode_ramdisk::files::Result;
use nix::errno::Errno;

use super::define::{CallAnswer, opened};
use crate::descriptors::{self, Description};
use crate::locks::Lock;

define! {
    fn dup(fd: c_int) -> c_int = duplicated(fd, 0);
    fn dup2(fd: c_int, new: c_int) -> c_int = replaced(fd, new);
    fn dup3(fd: c_int, new: c_int, _flags: c_int) -> c_int = replaced(fd, new);
    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int =
        controlled(fd, command, argument);
    fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int =
        controlled(fd, command, argument);
    fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int =
        device_controlled(fd, request, argument);
    fn isatty(fd: c_int) -> c_int = not_a_terminal(fd);
    fn flock(fd: c_int, operation: c_int) -> c_int = locked(fd, operation);
}

fn duplicated(fd: c_int, least: c_int) -> CallAnswer<c_int> {
    opened(fd).map(|open| descriptors::duplicate(open, least))
}

/// Makes `new` refer to the file of `fd`. The descriptor at `new` is replaced by a placeholder.
fn replaced(fd: c_int, new: c_int) -> CallAnswer<c_int> {
    let open = opened(fd);
    match open {
        Some(_) if fd == new => Some(Ok(new)),
        // The C library replaces the placeholder at `new`.
        None => {
            drop(descriptors::remove(new));
            None
        }
        Some(open) => {
            drop(descriptors::remove(new));
            Some(placed(open, new))
        }
    }
}

fn placed(open: Arc<Description>, new: c_int) -> Result<c_int> {
    let spare = descriptors::placeholder(0)?;
    descriptors::move_to(spare, new)?;
    descriptors::adopt(new, open)
}

fn controlled(fd: c_int, command: c_int, argument: usize) -> CallAnswer<c_int> {
    let open = opened(fd)?;
    Some(match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => descriptors::duplicate(open, argument as c_int),
        libc::F_GETFD => Ok(libc::FD_CLOEXEC),
        libc::F_SETFD => Ok(0),
        libc::F_GETFL => open.home.with(|folder| Ok(folder.opened(open.id)?.mode.flags)),
        libc::F_SETFL => {
            let append = argument as c_int & libc::O_APPEND != 0;
            open.home.with(|folder| folder.set_flags(open.id, append)).map(|()| 0)
        }
        // A process never waits for a lock of its own.
        libc::F_SETLK | libc::F_SETLKW => {
            open.home.with(|folder| folder.opened(open.id)).map(|_| 0)
        }
        // SAFETY: The argument of these commands is a lock.
        _ => match unsafe { (argument as *mut libc::flock).as_mut() } {
            Some(lock) if command == libc::F_GETLK => {
                lock.l_type = libc::F_UNLCK as libc::c_short;
                Ok(0)
            }
            Some(lock) if command == libc::F_OFD_GETLK => tested(&open, lock),
            Some(lock) if command == libc::F_OFD_SETLK => ranged(&open, lock, false),
            Some(lock) if command == libc::F_OFD_SETLKW => ranged(&open, lock, true),
            _ => Err(Errno::EINVAL),
        },
    })
}

/// Returns the lock that a command for ranges asks for. `None` if it gives one back.
fn lock_of(asked: &libc::flock) -> Result<Option<Lock>> {
    match i32::from(asked.l_type) {
        libc::F_RDLCK => Ok(Some(Lock::Shared)),
        libc::F_WRLCK => Ok(Some(Lock::Exclusive)),
        libc::F_UNLCK => Ok(None),
        _ => Err(Errno::EINVAL),
    }
}

/// Takes or gives back the lock of a range.
fn ranged(open: &Description, asked: &libc::flock, waits: bool) -> Result<c_int> {
    let lock = lock_of(asked)?;
    let done = open.home.with_until(|folder| match folder.lock_range(open.id, asked, lock) {
        None if !waits => Some(Err(Errno::EAGAIN)),
        done => done,
    });
    open.home.wake();
    done.map(|()| 0)
}

/// Puts the lock that excludes the asked one in its place.
fn tested(open: &Description, asked: &mut libc::flock) -> Result<c_int> {
    let lock = lock_of(asked)?.ok_or(Errno::EINVAL)?;
    match open.home.with(|folder| folder.range_conflict(open.id, asked, lock))? {
        None => asked.l_type = libc::F_UNLCK as libc::c_short,
        Some(held) => {
            let kind = if held.lock == Lock::Shared { libc::F_RDLCK } else { libc::F_WRLCK };
            let len =
                if held.range.end == u64::MAX { 0 } else { held.range.end - held.range.start };
            (asked.l_type, asked.l_whence) = (kind as _, libc::SEEK_SET as _);
            (asked.l_start, asked.l_len, asked.l_pid) = (held.range.start as i64, len as i64, -1);
        }
    }
    Ok(0)
}

fn device_controlled(fd: c_int, request: c_ulong, argument: usize) -> CallAnswer<c_int> {
    let open = opened(fd)?;
    Some(match request {
        libc::FIOCLEX | libc::FIONCLEX => Ok(0),
        libc::FICLONE if opened(argument as c_int).is_some() => Err(Errno::EOPNOTSUPP),
        libc::FICLONE => Err(Errno::EXDEV),
        _ => open.home.with(|folder| folder.opened(open.id)).and(Err(Errno::ENOTTY)),
    })
}

/// isatty(3) returns 0 with an error.
fn not_a_terminal(fd: c_int) -> CallAnswer<c_int> {
    opened(fd)?;
    Errno::ENOTTY.set();
    Some(Ok(0))
}

fn locked(fd: c_int, operation: c_int) -> CallAnswer<c_int> {
    let open = opened(fd)?;
    let waits = operation & libc::LOCK_NB == 0;
    let lock = match operation & !libc::LOCK_NB {
        libc::LOCK_SH => Some(Lock::Shared),
        libc::LOCK_EX => Some(Lock::Exclusive),
        libc::LOCK_UN => None,
        _ => return Some(Err(Errno::EINVAL)),
    };
    let done = open.home.with_until(|folder| match folder.flock(open.id, lock) {
        None if !waits => Some(Err(Errno::EWOULDBLOCK)),
        done => done,
    });
    open.home.wake();
    Some(done.map(|()| 0))
}
