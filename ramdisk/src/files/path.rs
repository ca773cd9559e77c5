//! Checks of paths: absolute, with `/` between names, and only normal names.
//!
//! The checks do not depend on the files that exist.

use nix::errno::Errno;

use super::Result;

/// The longest name in bytes (`NAME_MAX`).
pub const NAME_BYTES: usize = 255;
/// The longest path in bytes (`PATH_MAX` without its NUL). It also limits a walk around a cycle of
/// names.
pub const PATH_BYTES: usize = 4095;

/// Returns the names of a path, outermost first. An empty list for the root.
///
/// `EINVAL` for a relative path, and for a name that is empty, `.`, `..` or contains a NUL.
/// `ENAMETOOLONG` for a path or name that is longer than the limits.
pub fn names(path: &str) -> Result<Vec<&str>> {
    if path.len() > PATH_BYTES {
        return Err(Errno::ENAMETOOLONG);
    }
    match path.strip_prefix('/').ok_or(Errno::EINVAL)? {
        "" => Ok(Vec::new()),
        rest => rest.split('/').map(name).collect(),
    }
}

fn name(name: &str) -> Result<&str> {
    match name {
        "" | "." | ".." => Err(Errno::EINVAL),
        _ if name.contains('\0') => Err(Errno::EINVAL),
        _ if name.len() > NAME_BYTES => Err(Errno::ENAMETOOLONG),
        _ => Ok(name),
    }
}
