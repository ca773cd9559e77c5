//! The sector of a directory's device that holds one name and the inode that it leads to.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 0 | 1 for a file, 2 for a directory, 3 for a symbolic link |
//! | 1 | length of the name in bytes |
//! | 2 - 5 | inode number, little endian |
//! | 6 - | the name, UTF-8; zeroes after it |
//! | 502 - 503 | the mode at creation, little endian, with the highest bit set; 010000 is a fifo, 020000 a socket |
//! | 504 - 507 | the owner at creation, little endian |
//! | 508 - 511 | the group at creation, little endian |
//!
//! The last three are zeroes for an inode with the usual mode that belongs to root. They are part
//! of the name, so that the creation of a file is one change that a crash keeps or loses whole. A
//! sector of zeroes is a name that leads nowhere.

use bytes::Bytes;
use nix::errno::Errno;

use super::access::Access;
use super::path::NAME_BYTES;
use super::{FileKind, Result};
use crate::ZERO_SECTOR;

const NAME_AT: usize = 6;
const ACCESS_AT: usize = 502;

/// One name, and the inode that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot<'s> {
    /// The kind of the inode.
    pub kind: FileKind,
    /// The number of the inode.
    pub inode: u32,
    /// The mode and owner of the inode at its creation.
    pub born: Access,
    /// The name.
    pub name: &'s str,
}

/// Returns the sector of a slot.
///
/// # Panics
/// If the name is longer than 255 bytes.
pub fn encode(slot: &Slot<'_>) -> Bytes {
    let Slot { kind, inode, born, name } = *slot;
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
    if born != Access::of_new(kind) {
        born.encode(&mut sector[ACCESS_AT..]);
    }
    Bytes::copy_from_slice(&sector)
}

/// Returns the slot of a name that leads nowhere.
pub fn nothing() -> Bytes {
    Bytes::from_static(&ZERO_SECTOR)
}

/// Decodes a slot that is not all zeroes. `EIO` if [`encode`] cannot have written it.
pub fn decode(sector: &[u8]) -> Result<Slot<'_>> {
    let kind = match sector[0] {
        1 => FileKind::File,
        2 => FileKind::Directory,
        3 => FileKind::Symlink,
        _ => return Err(Errno::EIO),
    };
    let inode = u32::from_le_bytes([sector[2], sector[3], sector[4], sector[5]]);
    let end = NAME_AT + usize::from(sector[1]);
    let name = std::str::from_utf8(&sector[NAME_AT..end]).map_err(|_| Errno::EIO)?;
    let clean = sector[end..ACCESS_AT] == ZERO_SECTOR[end..ACCESS_AT];
    if name.is_empty() || !clean {
        return Err(Errno::EIO);
    }
    let born = Access::decode(&sector[ACCESS_AT..])?.unwrap_or_else(|| Access::of_new(kind));
    Ok(Slot { kind, inode, born, name })
}
