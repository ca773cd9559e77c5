//! The `sqlite3_io_methods`, which turn SQLite's calls into calls of [`File`].
//!
//! Invariants: a [`Handle`] whose methods are not null holds a [`File`]. Each method first checks
//! ([`with_file`]) that it runs in a turn of the file's own stack, and therefore on that stack's
//! thread. Otherwise it touches nothing.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, fence};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods};

use super::file::{File, Result, SECTOR_BYTES};
use super::locks::Level;
use super::session::{Session, callback};

/// The memory that SQLite allocates for an open file (`szOsFile` bytes, aligned to 8).
#[repr(C)]
pub(super) struct Handle {
    base: sqlite3_file,
    file: MaybeUninit<File>,
}

const _: () = assert!(align_of::<Handle>() <= 8);

impl Handle {
    /// Marks the handle as not open, so that SQLite does not close it.
    ///
    /// # Safety
    ///
    /// `file` points to memory for a [`Handle`].
    pub unsafe fn clear(file: *mut sqlite3_file) {
        // SAFETY: the caller's promise; the first field of a handle is a `sqlite3_file`.
        unsafe { (*file).pMethods = std::ptr::null() };
    }

    /// Stores an open file, which SQLite closes.
    ///
    /// # Safety
    ///
    /// `file` points to memory for a [`Handle`] that holds no [`File`].
    pub unsafe fn fill(file: *mut sqlite3_file, content: File) {
        let handle = file.cast::<Handle>();
        // SAFETY: the caller's promise; only the two fields are written.
        unsafe {
            (&raw mut (*handle).file).write(MaybeUninit::new(content));
            (*handle).base.pMethods = &METHODS;
        }
    }
}

/// The methods of version 2: shared memory, but no mapped files. Unix also maps none by default
/// (`SQLITE_DEFAULT_MMAP_SIZE` is 0).
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Calls a method on its file.
///
/// # Safety
///
/// `file` is a [`Handle`] that holds a [`File`], and has no other user meanwhile.
unsafe fn with_file(
    file: *mut sqlite3_file,
    method: impl FnOnce(&Session, &mut File) -> Result<()>,
) -> c_int {
    callback(|session| {
        // SAFETY: the caller's promise.
        let file = unsafe { (*file.cast::<Handle>()).file.assume_init_mut() };
        if !file.is_of(session) {
            return Err(ffi::SQLITE_IOERR);
        }
        method(session, file)
    })
}

/// Closes a file. A file of another stack stays as it is, because a leak is better than a
/// descriptor closed twice.
unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls its methods on open files, one call at a time. The file is moved out
    // once: SQLite does not use a file that it has closed, and the handle is cleared.
    unsafe {
        with_file(file, |session, content| {
            let content = std::ptr::read(content);
            Handle::clear(file);
            content.close(session)
        })
    }
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    buf: *mut c_void,
    len: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls its methods on open files, with a buffer of `len` bytes that it may not
    // have initialised; it is filled here before a reference is made of it.
    unsafe {
        with_file(file, |session, file| {
            buf.cast::<u8>().write_bytes(0, len as usize);
            let buf = std::slice::from_raw_parts_mut(buf.cast::<u8>(), len as usize);
            file.read(session, buf, offset as u64)
        })
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    data: *const c_void,
    len: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls its methods on open files, with `len` bytes to write.
    unsafe {
        with_file(file, |session, file| {
            let data = std::slice::from_raw_parts(data.cast::<u8>(), len as usize);
            file.write(session, data, offset as u64)
        })
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls its methods on open files.
    unsafe { with_file(file, |session, file| file.truncate(session, size as u64)) }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: SQLite calls its methods on open files.
    unsafe { with_file(file, |session, file| file.sync(session)) }
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls its methods on open files, with room for the result.
    unsafe {
        with_file(file, |session, file| {
            *size = file.size(session)? as sqlite3_int64;
            Ok(())
        })
    }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite calls its methods on open files.
    unsafe {
        with_file(file, |session, file| {
            file.lock(session, Level::from_number(level).ok_or(ffi::SQLITE_IOERR_LOCK)?)
        })
    }
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite calls its methods on open files.
    unsafe {
        with_file(file, |session, file| {
            file.unlock(session, Level::from_number(level).ok_or(ffi::SQLITE_IOERR_UNLOCK)?)
        })
    }
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, reserved: *mut c_int) -> c_int {
    // SAFETY: SQLite calls its methods on open files, with room for the result.
    unsafe {
        with_file(file, |session, file| {
            *reserved = file.is_reserved(session)?.into();
            Ok(())
        })
    }
}

/// `unixFileControl`, without chunk sizes, mapped files and the operations that only tests use.
/// Unix returns `SQLITE_NOTFOUND` for all others as well.
unsafe extern "C" fn file_control(
    file: *mut sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: SQLite calls its methods on open files. The operations below have a pointer to an
    // `int` as argument, except SIZE_HINT, whose argument is not read.
    unsafe {
        with_file(file, |session, file| {
            let number = argument.cast::<c_int>();
            match operation {
                ffi::SQLITE_FCNTL_LOCKSTATE => *number = file.lock as c_int,
                ffi::SQLITE_FCNTL_LAST_ERRNO => *number = session.stack.last_errno(),
                // Without a chunk size unix does nothing.
                ffi::SQLITE_FCNTL_SIZE_HINT => {}
                ffi::SQLITE_FCNTL_PERSIST_WAL => mode_bit(&mut file.persist_wal, &mut *number),
                ffi::SQLITE_FCNTL_POWERSAFE_OVERWRITE => {
                    mode_bit(&mut file.powersafe_overwrite, &mut *number);
                }
                ffi::SQLITE_FCNTL_HAS_MOVED => *number = file.has_moved(session).into(),
                // "readers with open wal-mode transactions in other processes": there are no other
                // processes.
                ffi::SQLITE_FCNTL_EXTERNAL_READER => *number = 0,
                _ => return Err(ffi::SQLITE_NOTFOUND),
            }
            Ok(())
        })
    }
}

/// Reads the bit if the number is negative, or sets it to 0 or 1 (`unixModeBit`).
fn mode_bit(bit: &mut bool, number: &mut c_int) {
    match *number {
        ..0 => *number = (*bit).into(),
        wanted => *bit = wanted != 0,
    }
}

unsafe extern "C" fn sector_size(_file: *mut sqlite3_file) -> c_int {
    SECTOR_BYTES
}

/// Returns the promises of the device. SQLite's advice is to promise only what is sure. Unix
/// nevertheless promises by default that a write changes no byte outside its range even if the
/// power fails. So does this VFS, unless the settings differ. (`SUBPAGE_READ` is about reading:
/// parts of a page may be read.)
unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    let mut characteristics = ffi::SQLITE_IOCAP_SUBPAGE_READ;
    // SAFETY: SQLite calls its methods on open files.
    unsafe {
        with_file(file, |_, file| {
            if file.powersafe_overwrite {
                characteristics |= ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE;
            }
            Ok(())
        })
    };
    characteristics
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    address: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite calls its methods on open files, with room for the result. It writes through
    // the pointer, which comes from cells and stays valid until SQLite unmaps the region
    // (`shared_memory`).
    unsafe {
        *address = std::ptr::null_mut();
        with_file(file, |session, file| {
            let region = file.shm_map(session, region as usize, bytes as usize, extend != 0)?;
            *address = region.map_or(std::ptr::null_mut(), |region| region.cast_mut().cast());
            Ok(())
        })
    }
}

unsafe extern "C" fn shm_lock(
    file: *mut sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite calls its methods on open files.
    unsafe {
        with_file(file, |session, file| {
            file.shm_lock(session, first as usize, count as usize, flags)
        })
    }
}

/// All connections of a stack are in one thread. The fence costs nothing and expresses the intent.
unsafe extern "C" fn shm_barrier(_file: *mut sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, _delete: c_int) -> c_int {
    // SAFETY: SQLite calls its methods on open files.
    unsafe { with_file(file, |session, file| file.shm_unmap(session)) }
}
