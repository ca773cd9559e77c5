//! The sector of a directory's device that holds one name and the inode that it leads to.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 0 | 1 for a file, 2 for a directory, 3 for a symbolic link |
//! | 1 | length of the name in bytes |
//! | 2 - 5 | inode number, little endian |
//! | 6 - | the name, UTF-8; zeroes after it |
//!
//! A sector of zeroes is a name that leads nowhere.

use bytes::Bytes;
use nix::errno::Errno;

use super::path::NAME_BYTES;
use super::{FileKind, Result};
use crate::{SECTOR_BYTES, ZERO_SECTOR};

const NAME_AT: usize = 6;

/// Returns the slot of a name that leads to `inode`.
///
/// # Panics
/// If the name is longer than 255 bytes.
pub fn encode(kind: FileKind, inode: u32, name: &str) -> Bytes {
    assert!(name.len() <= NAME_BYTES, "a name of {} bytes does not fit into a slot", name.len());
    let mut sector = ZERO_SECTOR;
    sector[0] = match kind {
        FileKind::File => 1,
        FileKind::Directory => 2,
        FileKind::Symlink => 3,
    };
    sector[1] = name.len() as u8;
    sector[2..NAME_AT].copy_from_slice(&inode.to_le_bytes());
    sector[NAME_AT..NAME_AT + name.len()].copy_from_slice(name.as_bytes());
    Bytes::copy_from_slice(&sector)
}

/// Returns the slot of a name that leads nowhere.
pub fn nothing() -> Bytes {
    Bytes::from_static(&ZERO_SECTOR)
}

/// Decodes a slot that is not all zeroes. `EIO` if [`encode`] cannot have written it.
pub fn decode(sector: &[u8]) -> Result<(FileKind, u32, &str)> {
    let kind = match sector[0] {
        1 => FileKind::File,
        2 => FileKind::Directory,
        3 => FileKind::Symlink,
        _ => return Err(Errno::EIO),
    };
    let inode = u32::from_le_bytes([sector[2], sector[3], sector[4], sector[5]]);
    let end = NAME_AT + usize::from(sector[1]);
    let name = std::str::from_utf8(&sector[NAME_AT..end]).map_err(|_| Errno::EIO)?;
    let clean = sector[end..SECTOR_BYTES] == ZERO_SECTOR[end..];
    if name.is_empty() || !clean { Err(Errno::EIO) } else { Ok((kind, inode, name)) }
}
