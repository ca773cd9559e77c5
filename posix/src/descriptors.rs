//! The descriptors of simulated files.
//!
//! Each is a number that the kernel knows, too: of a placeholder, which refuses all calls on its
//! contents. So the number is not given to another file, and a system call that does not go through
//! the C library fails with `EBADF`.

use std::collections::HashMap;
use std::ffi::c_int;
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use explode_ramdisk::files::Result;
use nix::errno::Errno;

use crate::folder::OpenId;
use crate::owner::Home;

/// The number of descriptors that can be ours.
const MOST: usize = 1 << 16;

/// True for each descriptor that is ours.
static OURS: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

/// The open files of our descriptors.
static TABLE: OnceLock<Mutex<HashMap<c_int, Arc<Description>>>> = OnceLock::new();

/// An open file of a mount. It is closed when the last descriptor is.
pub struct Description {
    pub home: Home,
    pub id: OpenId,
}

impl Drop for Description {
    fn drop(&mut self) {
        // Nothing is left to close if the mount has ended.
        self.home.with(|folder| folder.close(self.id)).ok();
        self.home.wake();
    }
}

fn table() -> MutexGuard<'static, HashMap<c_int, Arc<Description>>> {
    TABLE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

fn flag(fd: c_int) -> Option<&'static AtomicBool> {
    OURS.get(usize::try_from(fd).ok()?)
}

/// Returns the open file of a descriptor. `None` if the descriptor is not ours.
pub fn find(fd: c_int) -> Option<Arc<Description>> {
    flag(fd)?.load(Ordering::Acquire).then(|| table().get(&fd).cloned())?
}

/// Returns a placeholder, whose number is not below `least`.
pub fn placeholder(least: c_int) -> Result<OwnedFd> {
    static FIRST: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        // SAFETY: The path ends with a NUL.
        let fd = unsafe { libc::open(c"/".as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
        // SAFETY: The descriptor is new.
        (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
    });
    let first = first.as_ref().ok_or(Errno::EMFILE)?.as_raw_fd();
    // SAFETY: The descriptor is open.
    let fd = unsafe { libc::fcntl(first, libc::F_DUPFD_CLOEXEC, least) };
    let fd = Errno::result(fd)?;
    // SAFETY: The descriptor is new.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn put(fd: OwnedFd, description: Arc<Description>) -> Result<c_int> {
    let flag = flag(fd.as_raw_fd()).ok_or(Errno::EMFILE)?;
    let fd = fd.into_raw_fd();
    table().insert(fd, description);
    flag.store(true, Ordering::Release);
    Ok(fd)
}

/// Returns a new descriptor of an open file.
pub fn new(home: Home, id: OpenId) -> Result<c_int> {
    let description = Arc::new(Description { home, id });
    put(placeholder(0)?, description)
}

/// Returns another descriptor of an open file, which is not below `least`.
pub fn duplicate(description: Arc<Description>, least: c_int) -> Result<c_int> {
    put(placeholder(least)?, description)
}

/// Takes a descriptor out of the table. `None` if it is not ours. The caller closes or replaces its
/// placeholder.
pub fn remove(fd: c_int) -> Option<Arc<Description>> {
    let flag = flag(fd)?;
    if !flag.load(Ordering::Acquire) {
        return None;
    }
    let mut table = table();
    flag.store(false, Ordering::Release);
    table.remove(&fd)
}

/// Puts a placeholder in the place of a descriptor.
pub fn move_to(placeholder: OwnedFd, fd: c_int) -> Result<()> {
    // SAFETY: dup3 has no requirements beyond open descriptors, which it checks.
    Errno::result(unsafe { libc::dup3(placeholder.as_raw_fd(), fd, libc::O_CLOEXEC) }).map(drop)
}

/// Makes a descriptor that is now a placeholder one of an open file.
pub fn adopt(fd: c_int, description: Arc<Description>) -> Result<c_int> {
    // SAFETY: The caller has made the placeholder.
    put(unsafe { OwnedFd::from_raw_fd(fd) }, description)
}
