//! Mapping files into memory.
//!
//! A mapping for reading, or a private one, is one of the file's mirror. A store through a shared
//! mapping is no call, so such a mapping is refused.

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd as _;

use libc::off_t;
use nix::errno::Errno;

use super::define::{CallAnswer, opened};
use crate::refusal::refuse;

define! {
    fn mmap(
        address: *mut c_void, len: usize, protection: c_int, flags: c_int, fd: c_int, offset: off_t,
    ) -> *mut c_void = mapped(address, (len, offset), protection, flags, fd);
    fn mmap64(
        address: *mut c_void, len: usize, protection: c_int, flags: c_int, fd: c_int, offset: off_t,
    ) -> *mut c_void = mapped(address, (len, offset), protection, flags, fd);
}

/// # Safety
/// That of mmap(2).
unsafe fn mapped(
    address: *mut c_void,
    (len, offset): (usize, off_t),
    protection: c_int,
    flags: c_int,
    fd: c_int,
) -> CallAnswer<*mut c_void> {
    if flags & libc::MAP_ANONYMOUS != 0 {
        return None;
    }
    let open = opened(fd)?;
    let is_private = flags & libc::MAP_TYPE == libc::MAP_PRIVATE;
    if !is_private && protection & libc::PROT_WRITE != 0 {
        let call = "writes through a shared mapping (mmap)";
        return Some(failed(refuse(&open.home, call, Errno::ENODEV)));
    }
    let mirror = open.home.with(|folder| folder.mirror(open.id)?.read_only());
    Some(match mirror {
        Err(errno) => failed(errno),
        Ok(mirror) => {
            let fd = mirror.as_raw_fd();
            // SAFETY: The arguments are the caller's, but for the descriptor.
            Ok(unsafe { libc::mmap(address, len, protection, flags, fd, offset) })
        }
    })
}

/// Returns what mmap(2) returns for an error, which is no null pointer.
fn failed(errno: Errno) -> Result<*mut c_void, Errno> {
    errno.set();
    Ok(libc::MAP_FAILED)
}
