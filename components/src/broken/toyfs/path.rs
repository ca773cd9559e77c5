//! Paths: absolute, `/` between names.

use explode_ramdisk::files::Result;
use nix::errno::Errno;

/// Bytes of the longest name.
pub const NAME_BYTES: usize = 58;

/// The names on the way.
///
/// # Errors
/// `EINVAL` for a path that is not absolute, or has a name of none; `ENAMETOOLONG`.
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
