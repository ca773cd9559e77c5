//! The two VFSs, which are registered once for the process.
//!
//! * [`NAME`], for databases on files of a stack. It has no state. Its methods use the current
//!   session.
//! * A copy of the unix VFS as the new default, which differs only in its randomness, because
//!   SQLite draws seeds from the default VFS (see `random`). Within a turn the session provides
//!   them, otherwise unix. So other uses of SQLite in the process work normally on real files.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use nix::errno::Errno;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_vfs};

use super::file::{File, Result, directory_of};
use super::io_methods::Handle;
use super::session::callback;

/// The name of the VFS for files of a stack.
pub(super) const NAME: &CStr = c"explode";
const DEFAULT_NAME: &CStr = c"explode-unix";

/// The path limit of unix (`MAX_PATHNAME`).
const MAX_PATH_BYTES: c_int = 512;

/// Midnight before 1 January 2000, UTC, in milliseconds of the Julian day number.
const NOW_MS: i64 = 211_813_444_800_000;
const DAY_MS: f64 = 86_400_000.0;

/// The VFS that was the default before.
static UNIX: AtomicPtr<sqlite3_vfs> = AtomicPtr::new(ptr::null_mut());

/// Registers both VFSs once. Returns SQLite's code on failure.
pub(super) fn register() -> std::result::Result<(), c_int> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    match *REGISTERED.get_or_init(register_once) {
        ffi::SQLITE_OK => Ok(()),
        code => Err(code),
    }
}

fn register_once() -> c_int {
    // SAFETY: the configuration is refused, which does no harm, if SQLite is in use already. The
    // VFSs are never freed; the copy has the methods of the original, which use nothing of it
    // except its data pointer and its name.
    unsafe {
        // Memory statistics cost a lock for each allocation and are never read.
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int);
        let code = ffi::sqlite3_initialize();
        if code != ffi::SQLITE_OK {
            return code;
        }
        let unix = ffi::sqlite3_vfs_find(ptr::null());
        if unix.is_null() {
            return ffi::SQLITE_ERROR;
        }
        UNIX.store(unix, Ordering::Release);
        let default = sqlite3_vfs {
            pNext: ptr::null_mut(),
            zName: DEFAULT_NAME.as_ptr(),
            xRandomness: Some(randomness),
            ..*unix
        };
        for (vfs, is_default) in [(default, 1), (on_files(), 0)] {
            let code = ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), is_default);
            if code != ffi::SQLITE_OK {
                return code;
            }
        }
        ffi::SQLITE_OK
    }
}

fn on_files() -> sqlite3_vfs {
    sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<Handle>() as c_int,
        mxPathname: MAX_PATH_BYTES,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        pAppData: ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        // Without these four SQLite loads no extensions.
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// Returns a path that SQLite passes. Paths of stacks are UTF-8, so one that is not cannot be
/// opened.
///
/// # Safety
///
/// `path` is a string of C that lives as long as the result is used.
unsafe fn path_of<'a>(path: *const c_char) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(path) }.to_str().map_err(|_| ffi::SQLITE_CANTOPEN)
}

unsafe extern "C" fn open(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives `szOsFile` bytes for the handle, a string or null, and room for the
    // flags or null. A path opened with SQLITE_OPEN_URI has parameters that `sqlite3_uri_boolean`
    // finds.
    unsafe {
        Handle::clear(file);
        callback(|session| {
            let mut powersafe = session.powersafe_overwrite;
            let path = if path.is_null() {
                None
            } else {
                if flags & ffi::SQLITE_OPEN_URI != 0 {
                    powersafe =
                        ffi::sqlite3_uri_boolean(path, c"psow".as_ptr(), powersafe.into()) != 0;
                }
                Some(path_of(path)?)
            };
            let (content, flags) = File::open(session, path, flags, powersafe)?;
            Handle::fill(file, content);
            if !out_flags.is_null() {
                *out_flags = flags;
            }
            Ok(())
        })
    }
}

/// `unixDelete`: the directory is synced only if SQLite requests it and the directory can be
/// opened.
unsafe extern "C" fn delete(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    sync_directory: c_int,
) -> c_int {
    callback(|session| {
        session.alive()?;
        // SAFETY: SQLite gives a string.
        let path = unsafe { path_of(path) }?;
        let files = &session.stack.files;
        files.unlink(path).map_err(|errno| {
            let absent = errno == Errno::ENOENT;
            let code =
                if absent { ffi::SQLITE_IOERR_DELETE_NOENT } else { ffi::SQLITE_IOERR_DELETE };
            session.stack.failed(errno, code)
        })?;
        if sync_directory & 1 == 0 {
            return Ok(());
        }
        match files.sync_dir(directory_of(path)) {
            Ok(()) | Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES) => Ok(()),
            Err(Errno::EMFILE | Errno::ENFILE) => Ok(()),
            Err(errno) => Err(session.stack.failed(errno, ffi::SQLITE_IOERR_DIR_FSYNC)),
        }
    })
}

/// `unixAccess`: an empty file does not exist. Every file that exists may be read and written.
unsafe extern "C" fn access(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    flags: c_int,
    found: *mut c_int,
) -> c_int {
    callback(|session| {
        session.alive()?;
        // SAFETY: SQLite gives a string.
        let stat = unsafe { path_of(path) }.map(|path| session.stack.files.stat(path));
        let exists = match stat {
            Ok(Ok(stat)) if flags == ffi::SQLITE_ACCESS_EXISTS => {
                stat.kind != explode_ramdisk::files::FileKind::File || stat.size > 0
            }
            Ok(stat) => stat.is_ok(),
            Err(_) => false,
        };
        // SAFETY: SQLite gives room for the result.
        unsafe { *found = exists.into() };
        Ok(())
    })
}

/// `unixFullPathname`, with `/` as the working directory and no symbolic links.
unsafe extern "C" fn full_pathname(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    room: c_int,
    full: *mut c_char,
) -> c_int {
    callback(|_| {
        // SAFETY: SQLite gives a string.
        let absolute = absolute(unsafe { path_of(path) }?);
        if absolute.len() < 2 || absolute.len() >= room as usize {
            return Err(ffi::SQLITE_CANTOPEN);
        }
        // SAFETY: SQLite gives `room` bytes, which is enough for the path and a zero.
        unsafe {
            full.cast::<u8>().copy_from_nonoverlapping(absolute.as_ptr(), absolute.len());
            full.cast::<u8>().add(absolute.len()).write(0);
        }
        Ok(())
    })
}

/// Returns the path without `.`, `..` and empty names. Empty for the root.
fn absolute(path: &str) -> String {
    let mut absolute = String::with_capacity(path.len() + 1);
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => absolute.truncate(absolute.rfind('/').unwrap_or(0)),
            name => {
                absolute.push('/');
                absolute.push_str(name);
            }
        }
    }
    absolute
}

unsafe extern "C" fn randomness(_vfs: *mut sqlite3_vfs, len: c_int, bytes: *mut c_char) -> c_int {
    let code = callback(|session| {
        // SAFETY: SQLite gives room for `len` bytes; they are written before a reference is made of
        // them.
        let bytes = unsafe {
            bytes.write_bytes(0, len as usize);
            std::slice::from_raw_parts_mut(bytes.cast::<u8>(), len as usize)
        };
        session.random.fill(bytes);
        Ok(())
    });
    if code == ffi::SQLITE_OK {
        return len;
    }
    // SQLite is used without a session.
    let unix = UNIX.load(Ordering::Acquire);
    // SAFETY: `UNIX` was set before this VFS was registered, to one that is never freed.
    match unsafe { (*unix).xRandomness } {
        // SAFETY: the arguments are the caller's.
        Some(unix_randomness) => unsafe { unix_randomness(unix, len, bytes) },
        None => 0,
    }
}

unsafe extern "C" fn sleep(_vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    microseconds
}

unsafe extern "C" fn current_time(_vfs: *mut sqlite3_vfs, days: *mut f64) -> c_int {
    // SAFETY: SQLite gives room for the result.
    unsafe { *days = NOW_MS as f64 / DAY_MS };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time_int64(_vfs: *mut sqlite3_vfs, milliseconds: *mut i64) -> c_int {
    // SAFETY: SQLite gives room for the result.
    unsafe { *milliseconds = NOW_MS };
    ffi::SQLITE_OK
}

unsafe extern "C" fn get_last_error(
    _vfs: *mut sqlite3_vfs,
    _room: c_int,
    _text: *mut c_char,
) -> c_int {
    let mut errno = 0;
    callback(|session| {
        errno = session.stack.last_errno();
        Ok(())
    });
    errno
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute() {
        assert_eq!(absolute("/a/b"), "/a/b");
        assert_eq!(absolute("b"), "/b");
        assert_eq!(absolute("//a/./../b//c/"), "/b/c");
        assert_eq!(absolute("/.."), "");
    }
}
