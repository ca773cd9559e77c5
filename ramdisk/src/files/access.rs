//! The mode and the owner of an inode, as ten bytes.

use nix::errno::Errno;

use super::{FileKind, Result};

/// The bit that marks a mode that was set.
const SET: u16 = 1 << 15;
/// The permission bits of a mode.
const MODE: u16 = 0o7777;

/// The mode and the owner of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The bits 07777 of the mode.
    pub mode: u32,
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl Access {
    /// Returns the access of an inode that is made without a mode. It belongs to root.
    pub fn of_new(kind: FileKind) -> Access {
        let mode = match kind {
            FileKind::File => 0o644,
            FileKind::Directory => 0o755,
            FileKind::Symlink => 0o777,
        };
        Access { mode, user: 0, group: 0 }
    }

    /// Returns a mode as it is stored: two bytes, little endian, with the highest bit set.
    pub(super) fn stored_mode(mode: u32) -> [u8; 2] {
        (mode as u16 & MODE | SET).to_le_bytes()
    }

    /// Returns the mode that two bytes store. `None` if none was set.
    pub(super) fn loaded_mode(bytes: [u8; 2]) -> Option<u32> {
        let mode = u16::from_le_bytes(bytes);
        (mode & SET != 0).then(|| (mode & MODE).into())
    }

    /// Writes the ten bytes to the start of `bytes`.
    pub(super) fn encode(self, bytes: &mut [u8]) {
        bytes[..2].copy_from_slice(&Access::stored_mode(self.mode));
        bytes[2..6].copy_from_slice(&self.user.to_le_bytes());
        bytes[6..10].copy_from_slice(&self.group.to_le_bytes());
    }

    /// Decodes ten bytes. `None` for zeroes, `EIO` if [`encode`](Access::encode) cannot have
    /// written them.
    pub(super) fn decode(bytes: &[u8]) -> Result<Option<Access>> {
        let bytes: [u8; 10] = bytes.try_into().map_err(|_| Errno::EIO)?;
        let [m, n, u @ .., a, b, c, d] = bytes;
        let mode = Access::loaded_mode([m, n]);
        if mode.is_none() && bytes != [0; 10] {
            return Err(Errno::EIO);
        }
        let (user, group) = (u32::from_le_bytes(u), u32::from_le_bytes([a, b, c, d]));
        Ok(mode.map(|mode| Access { mode, user, group }))
    }
}
