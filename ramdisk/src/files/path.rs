//! Paths: absolute, `/` between names, and no name that is not plainly one.
//!
//! Nothing here knows which files there are.

use nix::errno::Errno;

use super::Result;

/// Longest name in bytes (`NAME_MAX`).
pub const NAME_BYTES: usize = 255;
/// Longest path in bytes (`PATH_MAX` without its NUL). It also ends a walk round a cycle of names.
pub const PATH_BYTES: usize = 4095;

/// The names of a path, outermost first; none for the root.
///
/// `EINVAL` for a relative path and for a name that is empty, `.`, `..` or holds a NUL;
/// `ENAMETOOLONG`.
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
