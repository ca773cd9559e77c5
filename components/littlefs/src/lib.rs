//! littlefs, unmodified, on a [`Device`] that is written in Rust.
//!
//! A [`Volume`] that is dropped is not unmounted, and its files are not closed: memory goes, and
//! nothing is written, as when the power goes. Its errors are the errno values that littlefs gives;
//! a volume that it finds damaged is `EILSEQ` (`LFS_ERR_CORRUPT`).
//!
//! # Rooms, bottom first
//!
//! - `ffi`: the functions of `shim.c`
//! - `device`: block devices in Rust, as littlefs calls them

mod device;
mod ffi;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use nix::errno::Errno;

pub use device::Device;

/// How littlefs lays out a device; all sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// What is read and programmed at least.
    pub prog_size: u32,
    /// What is erased at once.
    pub block_size: u32,
    /// How many blocks there are.
    pub block_count: u32,
    /// What is buffered of a block; divides its size.
    pub cache_size: u32,
    /// After so many erasures metadata moves to another block; -1 for never.
    pub block_cycles: i32,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A file of so many bytes.
    File(u32),
    /// A directory.
    Directory,
}

/// How to open a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open {
    /// Make it if it is not there.
    pub create: bool,
    /// Fail if it is there.
    pub exclusive: bool,
    /// Cut it to nothing.
    pub truncate: bool,
}

/// A mounted volume.
pub struct Volume {
    raw: NonNull<ffi::Volume>,
    files: RefCell<BTreeMap<u32, NonNull<ffi::File>>>,
    /// Comes from a box; C has it, too, until `raw` is freed.
    device: NonNull<Box<dyn Device>>,
}

impl std::fmt::Debug for Volume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a volume of littlefs")
    }
}

fn check(code: i32) -> Result<u32, Errno> {
    u32::try_from(code).map_err(|_| Errno::from_raw(-code))
}

fn text(path: &str) -> Result<CString, Errno> {
    CString::new(path).map_err(|_| Errno::EINVAL)
}

/// The version of littlefs, as `2.11`.
pub fn version() -> String {
    let version = ffi::explode_lfs_version();
    format!("{}.{}", version >> 16, version & 0xffff)
}

/// Makes an empty file system.
///
/// # Errors
/// What littlefs says.
pub fn format(device: Box<dyn Device>, geometry: &Geometry) -> Result<(), Errno> {
    let volume = Volume::new(device, geometry)?;
    // SAFETY: the volume is there, and is not mounted.
    check(unsafe { ffi::explode_lfs_format(volume.raw.as_ptr()) }).map(drop)
}

impl Volume {
    fn new(device: Box<dyn Device>, geometry: &Geometry) -> Result<Volume, Errno> {
        let Geometry { prog_size, block_size, block_count, cache_size, block_cycles } = *geometry;
        let geometry =
            ffi::Geometry { prog_size, block_size, block_count, cache_size, block_cycles };
        let device = NonNull::from(Box::leak(Box::new(device)));
        // SAFETY: both are read before the call returns; the device stays where it is for as long
        // as the volume is there.
        let raw = unsafe { ffi::explode_lfs_new(&device::calls(device), &geometry) };
        let Some(raw) = NonNull::new(raw) else {
            // SAFETY: it is the box from above, and there is no volume that knows of it.
            drop(unsafe { Box::from_raw(device.as_ptr()) });
            return Err(Errno::ENOMEM);
        };
        Ok(Volume { raw, files: RefCell::default(), device })
    }

    /// Mounts one.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn mount(device: Box<dyn Device>, geometry: &Geometry) -> Result<Volume, Errno> {
        let volume = Volume::new(device, geometry)?;
        // SAFETY: the volume is there, and is not mounted.
        check(unsafe { ffi::explode_lfs_mount(volume.raw.as_ptr()) })?;
        Ok(volume)
    }

    /// Finishes what a power loss has interrupted (`lfs_fs_mkconsistent`); else that is done before
    /// the first change.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn make_consistent(&self) -> Result<(), Errno> {
        // SAFETY: the volume is mounted.
        check(unsafe { ffi::explode_lfs_mkconsistent(self.raw.as_ptr()) }).map(drop)
    }

    /// Closes what is open, and unmounts it.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn unmount(self) -> Result<(), Errno> {
        let open: Vec<u32> = self.files.borrow().keys().copied().collect();
        open.into_iter().try_for_each(|file| self.close(file))?;
        // SAFETY: the volume is mounted, and has no open files.
        check(unsafe { ffi::explode_lfs_unmount(self.raw.as_ptr()) }).map(drop)
    }

    /// Opens a file for reading and writing; the number stands for it until it is closed.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn open(&self, path: &str, how: Open) -> Result<u32, Errno> {
        // LFS_O_CREAT, LFS_O_EXCL, LFS_O_TRUNC.
        let flags = [(how.create, 0x100), (how.exclusive, 0x200), (how.truncate, 0x400)];
        let flags: c_int = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum();
        let mut file = ptr::null_mut();
        let path = text(path)?;
        // SAFETY: the volume is mounted, the path ends with a zero, and `file` is a place for the
        // result.
        check(unsafe {
            ffi::explode_lfs_file_open(self.raw.as_ptr(), path.as_ptr(), flags, &raw mut file)
        })?;
        let file = NonNull::new(file).ok_or(Errno::ENOMEM)?;
        let mut files = self.files.borrow_mut();
        let number = files.last_key_value().map_or(0, |(last, _)| last + 1);
        files.insert(number, file);
        Ok(number)
    }

    fn file(&self, file: u32) -> Result<*mut ffi::File, Errno> {
        self.files.borrow().get(&file).map(|file| file.as_ptr()).ok_or(Errno::EBADF)
    }

    /// Closes a file, which commits what was written.
    ///
    /// # Errors
    /// What littlefs says; the file is closed all the same.
    pub fn close(&self, file: u32) -> Result<(), Errno> {
        let raw = self.file(file)?;
        self.files.borrow_mut().remove(&file);
        // SAFETY: the volume is mounted, the file is one of its open ones, and is not used any
        // more.
        unsafe {
            let closed = ffi::explode_lfs_file_close(self.raw.as_ptr(), raw);
            ffi::explode_lfs_file_free(raw);
            check(closed).map(drop)
        }
    }

    /// Commits what was written.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn sync(&self, file: u32) -> Result<(), Errno> {
        // SAFETY: the volume is mounted, and the file is one of its open ones.
        check(unsafe { ffi::explode_lfs_file_sync(self.raw.as_ptr(), self.file(file)?) }).map(drop)
    }

    /// The files that are open.
    pub fn open_files(&self) -> Vec<u32> {
        self.files.borrow().keys().copied().collect()
    }

    /// Bytes of an open file.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn size(&self, file: u32) -> Result<u32, Errno> {
        // SAFETY: the volume is mounted, and the file is one of its open ones.
        check(unsafe { ffi::explode_lfs_file_size(self.raw.as_ptr(), self.file(file)?) })
    }

    /// Reads from a byte on; how many bytes there were.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn read(&self, file: u32, at: u32, buf: &mut [u8]) -> Result<usize, Errno> {
        let (to, len) = (buf.as_mut_ptr().cast(), len(buf)?);
        // SAFETY: the volume is mounted, the file is one of its open ones, and the buffer has this
        // length.
        check(unsafe {
            ffi::explode_lfs_file_read(self.raw.as_ptr(), self.file(file)?, at, to, len)
        })
        .map(|read| read as usize)
    }

    /// Writes from a byte on.
    ///
    /// # Errors
    /// What littlefs says; `ENOSPC` if it has written less.
    pub fn write(&self, file: u32, at: u32, data: &[u8]) -> Result<(), Errno> {
        let (from, len) = (data.as_ptr().cast(), len(data)?);
        // SAFETY: the volume is mounted, the file is one of its open ones, and the buffer has this
        // length.
        let written = unsafe {
            ffi::explode_lfs_file_write(self.raw.as_ptr(), self.file(file)?, at, from, len)
        };
        if check(written)? == len { Ok(()) } else { Err(Errno::ENOSPC) }
    }

    /// Sets the size of an open file.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn truncate(&self, file: u32, size: u32) -> Result<(), Errno> {
        // SAFETY: the volume is mounted, and the file is one of its open ones.
        check(unsafe { ffi::explode_lfs_file_truncate(self.raw.as_ptr(), self.file(file)?, size) })
            .map(drop)
    }

    /// What a path leads to.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn stat(&self, path: &str) -> Result<Node, Errno> {
        let (mut directory, mut size) = (0, 0);
        let path = text(path)?;
        // SAFETY: the volume is mounted, the path ends with a zero, and the others are places for
        // the results.
        check(unsafe {
            ffi::explode_lfs_stat(
                self.raw.as_ptr(),
                path.as_ptr(),
                &raw mut directory,
                &raw mut size,
            )
        })?;
        Ok(if directory == 1 { Node::Directory } else { Node::File(size) })
    }

    /// The names in a directory; is each a directory?
    ///
    /// # Errors
    /// What littlefs says.
    pub fn list(&self, path: &str) -> Result<Vec<(String, bool)>, Errno> {
        unsafe extern "C" fn each(names: *mut c_void, name: *const c_char, directory: c_int) {
            // SAFETY: `names` is the vector below, which has no other user during the call.
            let names = unsafe { &mut *names.cast::<Vec<(String, bool)>>() };
            // SAFETY: the name ends with a zero.
            let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
            names.push((name, directory == 1));
        }
        let mut names: Vec<(String, bool)> = Vec::new();
        let path = text(path)?;
        let to = (&raw mut names).cast();
        // SAFETY: the volume is mounted, the path ends with a zero, and `each` takes what `to` is.
        check(unsafe { ffi::explode_lfs_list(self.raw.as_ptr(), path.as_ptr(), to, each) })?;
        Ok(names)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn mkdir(&self, path: &str) -> Result<(), Errno> {
        let path = text(path)?;
        // SAFETY: the volume is mounted, and the path ends with a zero.
        check(unsafe { ffi::explode_lfs_mkdir(self.raw.as_ptr(), path.as_ptr()) }).map(drop)
    }

    /// Removes a file or an empty directory.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn remove(&self, path: &str) -> Result<(), Errno> {
        let path = text(path)?;
        // SAFETY: the volume is mounted, and the path ends with a zero.
        check(unsafe { ffi::explode_lfs_remove(self.raw.as_ptr(), path.as_ptr()) }).map(drop)
    }

    /// Gives something another name, in place of what has it.
    ///
    /// # Errors
    /// What littlefs says.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, to) = (text(from)?, text(to)?);
        // SAFETY: the volume is mounted, and the paths end with a zero.
        check(unsafe { ffi::explode_lfs_rename(self.raw.as_ptr(), from.as_ptr(), to.as_ptr()) })
            .map(drop)
    }
}

fn len(buf: &[u8]) -> Result<u32, Errno> {
    u32::try_from(buf.len()).map_err(|_| Errno::EFBIG)
}

impl Drop for Volume {
    fn drop(&mut self) {
        // SAFETY: these have no user any more.
        unsafe {
            self.files.borrow().values().for_each(|file| ffi::explode_lfs_file_free(file.as_ptr()));
            ffi::explode_lfs_free(self.raw.as_ptr());
            drop(Box::from_raw(self.device.as_ptr()));
        }
    }
}
