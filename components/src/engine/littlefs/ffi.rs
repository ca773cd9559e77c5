//! A safe interface to the C functions of littlefs. All unsafe code of this component is here.
//!
//! A [`LfsVolume`] that is dropped is not unmounted and its files are not closed: its memory is
//! freed and nothing is written, as in a power loss. littlefs allocates no memory, since it is
//! given all its buffers. Errors are the errno values that littlefs returns; a damaged volume is
//! `EILSEQ` (`LFS_ERR_CORRUPT`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::NonNull;
use std::slice;

use littlefs2_sys as sys;
use nix::errno::Errno;

use super::port::Port;

/// The version of littlefs in the crate littlefs2-sys. Its header has only the first two numbers.
pub const VERSION: &str = "2.9.3";

const _: () =
    assert!(sys::LFS_VERSION == 0x0002_0009, "VERSION differs from the header of littlefs");

/// The kind of a path's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LfsNode {
    /// A file and its size in bytes.
    File(u32),
    /// A directory.
    Directory,
}

/// The flags with which a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct LfsOpen {
    /// True to create the file if it does not exist.
    pub create: bool,
    /// True to fail if the file exists. Used with `create`.
    pub exclusive: bool,
    /// True to set the size to 0.
    pub truncate: bool,
}

/// A value at a fixed address, because C keeps pointers to it.
struct Fixed<T>(NonNull<T>);

impl<T> Fixed<T> {
    fn new(value: T) -> Fixed<T> {
        Fixed(NonNull::from(Box::leak(Box::new(value))))
    }

    fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of the box in `new`, and this is the only place that frees
        // it.
        drop(unsafe { Box::from_raw(self.as_ptr()) });
    }
}

/// The memory of a volume. Its parts point to each other.
struct Memory {
    lfs: sys::lfs_t,
    config: sys::lfs_config,
    port: Port,
    read_cache: Vec<u8>,
    program_cache: Vec<u8>,
    /// A bit for each of the next blocks, set if it may be free.
    lookahead: [u64; 2],
}

/// The memory of an open file.
struct LfsOpenFile {
    file: sys::lfs_file_t,
    config: sys::lfs_file_config,
    /// The buffer that `config` names.
    _cache: Vec<u8>,
}

/// A mounted volume.
pub struct LfsVolume {
    memory: Fixed<Memory>,
    files: RefCell<BTreeMap<u32, Fixed<LfsOpenFile>>>,
}

/// Creates an empty file system.
///
/// # Errors
/// The errors of littlefs.
pub fn format(port: Port) -> Result<(), Errno> {
    let volume = LfsVolume::new(port);
    // SAFETY: `lfs` and `config` are those of one volume, which is not mounted.
    check(unsafe { sys::lfs_format(volume.lfs(), volume.config()) }).map(drop)
}

impl LfsVolume {
    fn new(port: Port) -> LfsVolume {
        let cache = vec![0; port.cache_bytes() as usize];
        let memory = Fixed::new(Memory {
            lfs: sys::lfs_t::default(),
            config: sys::lfs_config::default(),
            port,
            read_cache: cache.clone(),
            program_cache: cache,
            lookahead: [0; 2],
        });
        let at = memory.as_ptr();
        // SAFETY: `at` points to a live value that C does not know yet, so this reference is the
        // only one.
        let Memory { config, port, read_cache, program_cache, lookahead, .. } = unsafe { &mut *at };
        *config = sys::lfs_config {
            read: Some(read),
            prog: Some(prog),
            erase: Some(erase),
            sync: Some(sync),
            read_size: port.unit,
            prog_size: port.unit,
            block_size: port.flash.block_bytes() as u32,
            block_count: port.flash.blocks() as u32,
            block_cycles: port.block_cycles,
            cache_size: port.cache_bytes(),
            lookahead_size: size_of_val(lookahead) as u32,
            read_buffer: read_cache.as_mut_ptr().cast(),
            prog_buffer: program_cache.as_mut_ptr().cast(),
            lookahead_buffer: (&raw mut *lookahead).cast(),
            context: (&raw mut *port).cast(),
            ..Default::default()
        };
        LfsVolume { memory, files: RefCell::default() }
    }

    fn lfs(&self) -> *mut sys::lfs_t {
        // SAFETY: the memory is live; no reference to it is made.
        unsafe { &raw mut (*self.memory.as_ptr()).lfs }
    }

    fn config(&self) -> *const sys::lfs_config {
        // SAFETY: the memory is live; no reference to it is made.
        unsafe { &raw const (*self.memory.as_ptr()).config }
    }

    /// Mounts a volume.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn mount(port: Port) -> Result<LfsVolume, Errno> {
        let volume = LfsVolume::new(port);
        // SAFETY: `lfs` and `config` are those of one volume, which is not mounted.
        check(unsafe { sys::lfs_mount(volume.lfs(), volume.config()) })?;
        Ok(volume)
    }

    /// Finishes an operation that a power loss interrupted (`lfs_fs_mkconsistent`). Without this
    /// call the first change to the volume finishes it.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn make_consistent(&self) -> Result<(), Errno> {
        // SAFETY: the volume is mounted.
        check(unsafe { sys::lfs_fs_mkconsistent(self.lfs()) }).map(drop)
    }

    /// Closes the open files and unmounts the volume.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn unmount(self) -> Result<(), Errno> {
        self.open_files().into_iter().try_for_each(|file| self.close(file))?;
        // SAFETY: the volume is mounted and has no open files.
        check(unsafe { sys::lfs_unmount(self.lfs()) }).map(drop)
    }

    /// Opens a file for reading and writing. Returns a number for it.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn open(&self, path: &str, how: LfsOpen) -> Result<u32, Errno> {
        let flags = [
            (true, sys::lfs_open_flags_LFS_O_RDWR),
            (how.create, sys::lfs_open_flags_LFS_O_CREAT),
            (how.exclusive, sys::lfs_open_flags_LFS_O_EXCL),
            (how.truncate, sys::lfs_open_flags_LFS_O_TRUNC),
        ];
        let flags = flags.iter().filter(|(set, _)| *set).fold(0, |flags, (_, flag)| flags | flag);
        let path = c_string(path)?;
        // SAFETY: the memory is live, and nothing changes its configuration.
        let mut cache: Vec<u8> = vec![0; unsafe { (*self.config()).cache_size } as usize];
        let buffer = cache.as_mut_ptr().cast();
        let open = Fixed::new(LfsOpenFile {
            file: sys::lfs_file_t::default(),
            config: sys::lfs_file_config { buffer, ..Default::default() },
            _cache: cache,
        });
        let at = open.as_ptr();
        // SAFETY: the volume is mounted, the path ends with a zero byte, and `open` is live until
        // the file is closed or the volume is dropped; C does not know it before the call.
        check(unsafe {
            let (file, config) = (&raw mut (*at).file, &raw const (*at).config);
            sys::lfs_file_opencfg(self.lfs(), file, path.as_ptr(), flags as c_int, config)
        })?;
        let mut files = self.files.borrow_mut();
        let number = files.last_key_value().map_or(0, |(last, _)| last + 1);
        files.insert(number, open);
        Ok(number)
    }

    fn file(&self, file: u32) -> Result<*mut sys::lfs_file_t, Errno> {
        let files = self.files.borrow();
        let open = files.get(&file).ok_or(Errno::EBADF)?.as_ptr();
        // SAFETY: the file's memory is live; no reference to it is made.
        Ok(unsafe { &raw mut (*open).file })
    }

    /// Closes a file, which commits its changes.
    ///
    /// # Errors
    /// The errors of littlefs. The file is closed nevertheless.
    pub fn close(&self, file: u32) -> Result<(), Errno> {
        let raw = self.file(file)?;
        // SAFETY: the volume is mounted, and the file is one of its open ones.
        let closed = check(unsafe { sys::lfs_file_close(self.lfs(), raw) });
        self.files.borrow_mut().remove(&file);
        closed.map(drop)
    }

    /// Commits the changes to a file.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn sync(&self, file: u32) -> Result<(), Errno> {
        // SAFETY: the volume is mounted, and the file is one of its open ones.
        check(unsafe { sys::lfs_file_sync(self.lfs(), self.file(file)?) }).map(drop)
    }

    /// Returns the numbers of the open files.
    pub fn open_files(&self) -> Vec<u32> {
        self.files.borrow().keys().copied().collect()
    }

    /// Returns the size of an open file, in bytes.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn size(&self, file: u32) -> Result<u32, Errno> {
        // SAFETY: the volume is mounted, and the file is one of its open ones.
        check(unsafe { sys::lfs_file_size(self.lfs(), self.file(file)?) })
    }

    fn seek(&self, file: u32, at: u32) -> Result<(), Errno> {
        let (at, from_start) = (at.cast_signed(), sys::lfs_whence_flags_LFS_SEEK_SET as c_int);
        // SAFETY: the volume is mounted, and the file is one of its open ones.
        check(unsafe { sys::lfs_file_seek(self.lfs(), self.file(file)?, at, from_start) }).map(drop)
    }

    /// Reads from byte `at` on. Returns the number of bytes read.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn read(&self, file: u32, at: u32, buf: &mut [u8]) -> Result<usize, Errno> {
        let (to, len) = (buf.as_mut_ptr().cast(), len(buf)?);
        self.seek(file, at)?;
        // SAFETY: the volume is mounted, the file is one of its open ones, and the buffer has this
        // length.
        check(unsafe { sys::lfs_file_read(self.lfs(), self.file(file)?, to, len) })
            .map(|read| read as usize)
    }

    /// Writes from byte `at` on.
    ///
    /// # Errors
    /// The errors of littlefs; `ENOSPC` if littlefs wrote less.
    pub fn write(&self, file: u32, at: u32, data: &[u8]) -> Result<(), Errno> {
        let (from, len) = (data.as_ptr().cast(), len(data)?);
        self.seek(file, at)?;
        // SAFETY: the volume is mounted, the file is one of its open ones, and the data has this
        // length.
        let written =
            check(unsafe { sys::lfs_file_write(self.lfs(), self.file(file)?, from, len) })?;
        if written == len { Ok(()) } else { Err(Errno::ENOSPC) }
    }

    /// Sets the size of an open file, in bytes.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn truncate(&self, file: u32, size: u32) -> Result<(), Errno> {
        // SAFETY: the volume is mounted, and the file is one of its open ones.
        check(unsafe { sys::lfs_file_truncate(self.lfs(), self.file(file)?, size) }).map(drop)
    }

    /// Returns the kind of a path's target.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn stat(&self, path: &str) -> Result<LfsNode, Errno> {
        let path = c_string(path)?;
        let mut info = sys::lfs_info::default();
        // SAFETY: the volume is mounted, the path ends with a zero byte, and `info` takes the
        // result.
        check(unsafe { sys::lfs_stat(self.lfs(), path.as_ptr(), &raw mut info) })?;
        Ok(if is_directory(&info) { LfsNode::Directory } else { LfsNode::File(info.size) })
    }

    /// Returns the names in a directory, each with true if it is a directory itself.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn list(&self, path: &str) -> Result<Vec<(String, bool)>, Errno> {
        let path = c_string(path)?;
        let directory = Fixed::new(sys::lfs_dir_t::default());
        let at = directory.as_ptr();
        // SAFETY: the volume is mounted, the path ends with a zero byte, and `directory` is live
        // until it is closed.
        check(unsafe { sys::lfs_dir_open(self.lfs(), at, path.as_ptr()) })?;
        let names = self.names(at);
        // SAFETY: the volume is mounted, and `directory` is open.
        let closed = check(unsafe { sys::lfs_dir_close(self.lfs(), at) });
        names.and_then(|names| closed.map(|_| names))
    }

    fn names(&self, directory: *mut sys::lfs_dir_t) -> Result<Vec<(String, bool)>, Errno> {
        let mut names = Vec::new();
        let mut info = sys::lfs_info::default();
        // SAFETY: the volume is mounted, `list` has opened `directory`, and `info` takes the
        // result.
        while check(unsafe { sys::lfs_dir_read(self.lfs(), directory, &raw mut info) })? > 0 {
            // SAFETY: littlefs ends the name with a zero byte.
            let name = unsafe { CStr::from_ptr(info.name.as_ptr()) }.to_string_lossy();
            if name != "." && name != ".." {
                names.push((name.into_owned(), is_directory(&info)));
            }
        }
        Ok(names)
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn mkdir(&self, path: &str) -> Result<(), Errno> {
        let path = c_string(path)?;
        // SAFETY: the volume is mounted, and the path ends with a zero byte.
        check(unsafe { sys::lfs_mkdir(self.lfs(), path.as_ptr()) }).map(drop)
    }

    /// Removes a file or an empty directory.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn remove(&self, path: &str) -> Result<(), Errno> {
        let path = c_string(path)?;
        // SAFETY: the volume is mounted, and the path ends with a zero byte.
        check(unsafe { sys::lfs_remove(self.lfs(), path.as_ptr()) }).map(drop)
    }

    /// Renames a file or directory, and replaces the target of the new name.
    ///
    /// # Errors
    /// The errors of littlefs.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, to) = (c_string(from)?, c_string(to)?);
        // SAFETY: the volume is mounted, and both paths end with a zero byte.
        check(unsafe { sys::lfs_rename(self.lfs(), from.as_ptr(), to.as_ptr()) }).map(drop)
    }
}

fn check(code: i32) -> Result<u32, Errno> {
    u32::try_from(code).map_err(|_| Errno::from_raw(-code))
}

fn code(result: Result<(), Errno>) -> c_int {
    result.map_or_else(|errno| -(errno as c_int), |()| 0)
}

fn c_string(path: &str) -> Result<CString, Errno> {
    CString::new(path).map_err(|_| Errno::EINVAL)
}

fn len(buf: &[u8]) -> Result<u32, Errno> {
    u32::try_from(buf.len()).map_err(|_| Errno::EFBIG)
}

fn is_directory(info: &sys::lfs_info) -> bool {
    u32::from(info.type_) == sys::lfs_type_LFS_TYPE_DIR
}

/// Returns the port of a volume.
///
/// # Safety
/// `config` is the configuration of a volume that lives for `'a`.
unsafe fn port<'a>(config: *const sys::lfs_config) -> &'a Port {
    // SAFETY: `LfsVolume::new` has stored a pointer to the volume's port, which nothing changes.
    unsafe { &*(*config).context.cast() }
}

unsafe extern "C" fn read(
    config: *const sys::lfs_config,
    block: u32,
    offset: u32,
    to: *mut c_void,
    size: u32,
) -> c_int {
    // SAFETY: littlefs passes a buffer of this size that it does not use during the call.
    let buf = unsafe { slice::from_raw_parts_mut(to.cast(), size as usize) };
    // SAFETY: littlefs passes the configuration of the volume that makes the call.
    code(unsafe { port(config) }.read(block, offset, buf))
}

unsafe extern "C" fn prog(
    config: *const sys::lfs_config,
    block: u32,
    offset: u32,
    from: *const c_void,
    size: u32,
) -> c_int {
    // SAFETY: littlefs passes a buffer of this size that it does not change during the call.
    let data = unsafe { slice::from_raw_parts(from.cast(), size as usize) };
    // SAFETY: littlefs passes the configuration of the volume that makes the call.
    code(unsafe { port(config) }.program(block, offset, data))
}

unsafe extern "C" fn erase(config: *const sys::lfs_config, block: u32) -> c_int {
    // SAFETY: littlefs passes the configuration of the volume that makes the call.
    unsafe { port(config) }.erase(block);
    0
}

unsafe extern "C" fn sync(config: *const sys::lfs_config) -> c_int {
    // SAFETY: littlefs passes the configuration of the volume that makes the call.
    unsafe { port(config) }.sync();
    0
}
