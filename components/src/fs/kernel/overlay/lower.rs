//! The contents of the lower folder, which a change copies up.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The entries of a filled lower folder: a directory, and files with bytes that are not zeroes, one
/// larger than a block and one smaller. The names are those that checkers use.
const LOWER: [(&str, Option<usize>); 3] = [("a", Some(6000)), ("b", None), ("b/a", Some(100))];

/// Fills the lower folder.
pub(super) fn fill(lower: &Path) -> io::Result<()> {
    LOWER.iter().try_for_each(|(name, size)| {
        let path = lower.join(name);
        let mode = match size {
            Some(size) => {
                let bytes: Vec<u8> = (0..*size).map(|at| b'A' + (at / 7 % 23) as u8).collect();
                fs::write(&path, bytes)?;
                0o644
            }
            None => {
                fs::create_dir(&path)?;
                0o755
            }
        };
        fs::set_permissions(&path, Permissions::from_mode(mode))
    })
}
