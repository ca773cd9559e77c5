//! The mode and the owner of an inode, as ten bytes.

use nix::errno::Errno;

use super::{FileKind, Result};

/// The bit that marks a mode that was set.
const SET: u16 = 1 << 15;
/// The permission bits of a mode.
const MODE: u32 = 0o7777;
/// The bits of a mode that hold the kind of a special file.
const SPECIAL: u32 = 0o30000;

/// The mode and the owner of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The bits 07777 of the mode. At its creation also the kind of a special file.
    pub mode: u32,
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl Access {
    /// The bit of the mode of a fifo. It is an empty file for all other purposes.
    pub const FIFO: u32 = 0o10000;
    /// The bit of the mode of a socket. It is an empty file for all other purposes.
    pub const SOCKET: u32 = 0o20000;

    /// Returns the access of an inode that is made without a mode. It belongs to root.
    pub fn of_new(kind: FileKind) -> Access {
        let mode = match kind {
            FileKind::File => 0o644,
            FileKind::Directory => 0o755,
            FileKind::Symlink => 0o777,
        };
        Access { mode, user: 0, group: 0 }
    }

    /// Returns the bits that hold the kind of a special file.
    pub fn special(self) -> u32 {
        self.mode & SPECIAL
    }

    /// Returns a mode as it is stored: two bytes, little endian, with the highest bit set.
    pub(super) fn stored_mode(mode: u32) -> [u8; 2] {
        ((mode & (MODE | SPECIAL)) as u16 | SET).to_le_bytes()
    }

    /// Returns the mode that two bytes store. `None` if none was set.
    pub(super) fn loaded_mode(bytes: [u8; 2]) -> Option<u32> {
        let mode = u16::from_le_bytes(bytes);
        (mode & SET != 0).then(|| u32::from(mode) & (MODE | SPECIAL))
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
