//! Calls by number, and calls that simulated files refuse.

use std::ffi::{c_char, c_int, c_long};

use libc::{AT_FDCWD, FILE};
use nix::errno::Errno;

use super::define::{CallAnswer, Never, opened, place};
use crate::owner::Home;
use crate::refusal::refuse;

define! {
    fn syscall(
        number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
    ) -> c_long = by_number(number, [a, b, c, d, e, f]);
    fn chdir(path: *const c_char) -> c_int = refused(path, "chdir of this process");
    fn fchdir(fd: c_int) -> c_int = refused_open(fd, "fchdir of this process");
    fn chroot(path: *const c_char) -> c_int = refused(path, "chroot of this process");
    fn fopen(path: *const c_char, _mode: *const c_char) -> *mut FILE =
        refused(path, "streams of C (fopen)");
    fn fopen64(path: *const c_char, _mode: *const c_char) -> *mut FILE =
        refused(path, "streams of C (fopen)");
    fn fdopen(fd: c_int, _mode: *const c_char) -> *mut FILE =
        refused_open(fd, "streams of C (fdopen)");
    fn mkstemp(path: *mut c_char) -> c_int = refused(path, "mkstemp");
    fn mkstemp64(path: *mut c_char) -> c_int = refused(path, "mkstemp");
    fn mkdtemp(path: *mut c_char) -> *mut c_char = refused(path, "mkdtemp");
    fn mkfifo(path: *const c_char, _mode: libc::mode_t) -> c_int = refused(path, "fifos");
    fn setxattr(
        path: *const c_char, _name: *const c_char, _value: *const libc::c_void, _size: usize,
        _flags: c_int,
    ) -> c_int = refused(path, "extended attributes");
    fn fsetxattr(
        fd: c_int, _name: *const c_char, _value: *const libc::c_void, _size: usize, _flags: c_int,
    ) -> c_int = refused_open(fd, "extended attributes");
    fn splice(
        from: c_int, _from_at: *mut i64, to: c_int, _to_at: *mut i64, _len: usize,
        _flags: libc::c_uint,
    ) -> isize = spliced(from, to);
}

/// # Safety
/// The path is null or a C string.
unsafe fn refused(path: *const c_char, call: &str) -> CallAnswer<Never> {
    // SAFETY: That of this function.
    let place = unsafe { place(AT_FDCWD, path) }?;
    Some(Err(refuse(&place.home, call, Errno::EOPNOTSUPP)))
}

fn refused_open(fd: c_int, call: &str) -> CallAnswer<Never> {
    let open = opened(fd)?;
    Some(Err(refuse(&open.home, call, Errno::EOPNOTSUPP)))
}

/// Callers of splice(2) copy by reads and writes after this error.
fn spliced(from: c_int, to: c_int) -> CallAnswer<usize> {
    opened(from).or_else(|| opened(to))?;
    Some(Err(Errno::EINVAL))
}

/// Answers a call by number that names one of our descriptors or a path of ours.
fn by_number(number: c_long, arguments: [usize; 6]) -> CallAnswer<c_long> {
    // SAFETY: The arguments are those of the call.
    #[cfg(feature = "isolation")]
    if let Some(answer) = unsafe { crate::isolation::by_number(number, arguments) } {
        return Some(answer);
    }
    let home = Home::current()?;
    match number {
        libc::SYS_io_uring_setup => Some(Err(refuse(&home, "io_uring", Errno::ENOSYS))),
        _ => file_call(number, arguments),
    }
}

/// Makes a call of files by the function of its name. `None` for other calls.
fn file_call(number: c_long, arguments: [usize; 6]) -> CallAnswer<c_long> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: The arguments are those of the system call, and the function has the same.
    let result = unsafe {
        match number {
            libc::SYS_read => libc::read(a as _, b as _, c) as c_long,
            libc::SYS_write => libc::write(a as _, b as _, c) as c_long,
            libc::SYS_pread64 => libc::pread64(a as _, b as _, c, d as _) as c_long,
            libc::SYS_pwrite64 => libc::pwrite64(a as _, b as _, c, d as _) as c_long,
            libc::SYS_close => libc::close(a as _).into(),
            libc::SYS_fcntl => libc::fcntl(a as _, b as _, c).into(),
            libc::SYS_flock => libc::flock(a as _, b as _).into(),
            libc::SYS_lseek => libc::lseek64(a as _, b as _, c as _),
            libc::SYS_sync_file_range => {
                libc::sync_file_range(a as _, b as _, c as _, d as _).into()
            }
            libc::SYS_fsync => libc::fsync(a as _).into(),
            libc::SYS_fdatasync => libc::fdatasync(a as _).into(),
            libc::SYS_ftruncate => libc::ftruncate64(a as _, b as _).into(),
            libc::SYS_fallocate => libc::fallocate64(a as _, b as _, c as _, d as _).into(),
            libc::SYS_openat => libc::openat(a as _, b as _, c as _, d as libc::mode_t).into(),
            libc::SYS_unlinkat => libc::unlinkat(a as _, b as _, c as _).into(),
            libc::SYS_mkdirat => libc::mkdirat(a as _, b as _, c as _).into(),
            libc::SYS_renameat2 => libc::renameat2(a as _, b as _, c as _, d as _, e as _).into(),
            libc::SYS_linkat => libc::linkat(a as _, b as _, c as _, d as _, e as _).into(),
            libc::SYS_statx => libc::statx(a as _, b as _, c as _, d as _, e as _).into(),
            libc::SYS_copy_file_range => {
                libc::copy_file_range(a as _, b as _, c as _, d as _, e, f as _) as c_long
            }
            _ => return None,
        }
    };
    // The function has set `errno`.
    Some(if result < 0 { Err(Errno::last()) } else { Ok(result) })
}
