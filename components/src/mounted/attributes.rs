//! The system calls of extended attributes and of clones on open files.

use std::os::fd::AsFd;

use explode_ramdisk::files::Result;
use nix::errno::Errno;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr, ioctl_ficlone};

/// The largest size of a list of names and of a value, in bytes (xattr(7)).
const MOST: usize = 64 << 10;
/// The prefix of the names of user attributes. The others belong to the kernel.
const OF_USERS: &[u8] = b"user.";

/// Sets an attribute (fsetxattr(2)).
pub fn set(file: &impl AsFd, name: &str, value: &[u8]) -> Result<()> {
    fsetxattr(file, name, value, XattrFlags::empty()).map_err(errno)
}

/// Removes an attribute (fremovexattr(2)).
pub fn remove(file: &impl AsFd, name: &str) -> Result<()> {
    fremovexattr(file, name).map_err(errno)
}

/// Returns every user attribute, in the order of names (flistxattr(2), fgetxattr(2)).
pub fn all(file: &impl AsFd) -> Result<Vec<(String, Vec<u8>)>> {
    let mut names = vec![0; MOST];
    let len = flistxattr(file, &mut names[..]).map_err(errno)?;
    let of_users = names[..len].split(|byte| *byte == 0).filter(|name| name.starts_with(OF_USERS));
    let value = |name: &[u8]| {
        let mut value = vec![0; MOST];
        let len = fgetxattr(file, name, &mut value[..]).map_err(errno)?;
        value.truncate(len);
        let name = String::from_utf8(name.to_vec()).map_err(|_| Errno::EILSEQ)?;
        Ok((name, value))
    };
    let mut all = of_users.map(value).collect::<Result<Vec<_>>>()?;
    all.sort_unstable();
    Ok(all)
}

/// Clones the contents of a file (`FICLONE`, ioctl_ficlone(2)).
pub fn clone(from: &impl AsFd, to: &impl AsFd) -> Result<()> {
    ioctl_ficlone(to, from).map_err(errno)
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}
