//! Files that the store has mapped for reading. Each has a mirror in memory of the kernel, which is
//! what is mapped. Every change of the file changes its mirror.

use std::ffi::CString;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use explode_ramdisk::files::Result;
use nix::errno::Errno;

/// The contents of a file in memory of the kernel.
#[derive(Debug)]
pub struct Mirror(OwnedFd);

impl Mirror {
    /// Returns an empty mirror.
    pub fn new() -> Result<Mirror> {
        let flags = libc::MFD_CLOEXEC;
        // SAFETY: The name ends with a NUL.
        let fd = unsafe { libc::memfd_create(c"explode-mapped".as_ptr(), flags) };
        // SAFETY: The descriptor is new.
        Errno::result(fd).map(|fd| Mirror(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sets the size in bytes.
    pub fn resize(&self, size: u64) -> Result<()> {
        let size = i64::try_from(size).map_err(|_| Errno::EFBIG)?;
        // SAFETY: The descriptor is open.
        Errno::result(unsafe { libc::ftruncate(self.0.as_raw_fd(), size) }).map(drop)
    }

    /// Writes at a byte offset.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &bytes[done..];
            let at = i64::try_from(offset + done as u64).map_err(|_| Errno::EFBIG)?;
            // SAFETY: The buffer has as many bytes.
            let count =
                unsafe { libc::pwrite(self.0.as_raw_fd(), rest.as_ptr().cast(), rest.len(), at) };
            done += Errno::result(count)? as usize;
        }
        Ok(())
    }

    /// Opens the mirror for reading, so that no mapping of it can be written.
    pub fn read_only(&self) -> Result<OwnedFd> {
        let path = CString::new(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        let path = path.map_err(|_| Errno::EINVAL)?;
        // SAFETY: The path ends with a NUL.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        // SAFETY: The descriptor is new.
        Errno::result(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
    }
}
