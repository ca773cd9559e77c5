//! Absolute paths, with `/` between names.

use explode_ramdisk::files::Result;
use nix::errno::Errno;

/// The largest length of a name in bytes.
pub const NAME_BYTES: usize = 58;

/// Splits a path into its names.
///
/// # Errors
/// `EINVAL` if the path is not absolute, or a name is empty, `.` or `..`; `ENAMETOOLONG`.
pub fn names(path: &str) -> Result<Vec<&str>> {
    let rest = path.strip_prefix('/').ok_or(Errno::EINVAL)?;
    let names: Vec<&str> = if rest.is_empty() { Vec::new() } else { rest.split('/').collect() };
    if names.iter().any(|name| name.len() > NAME_BYTES) {
        return Err(Errno::ENAMETOOLONG);
    }
    if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
        Err(Errno::EINVAL)
    } else {
        Ok(names)
    }
}
