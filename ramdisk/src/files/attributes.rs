//! The attributes of an inode: its mode, its extended attributes, and the target of a symbolic
//! link.
//!
//! They are stored only on the device of the inode. A mode that was changed is in the sector after
//! that of the size ([`MODE_SECTOR`]). Each extended attribute is in one of the sectors after the
//! mode ([`XATTR_SECTORS`]), chosen by a hash of its name. A changed owner is in the sector after
//! them ([`OWNER_SECTOR`]). Each is therefore a version that a crash keeps or loses separately. A
//! sector of zeroes is the mode or the owner at creation, or no attribute. The target of a symbolic
//! link begins in the first sector.
//!
//! | sector | bytes |
//! | --- | --- |
//! | mode | 2, little endian, with the highest bit set |
//! | owner | user, 4, and group, 4, little endian, each plus one |
//! | attribute | length of the name, 1; of the value, 2, little endian; the name, UTF-8; the value |
//! | target | its length, 2, little endian; the target, UTF-8 |

use std::ops::Range;

use bytes::Bytes;
use nix::errno::Errno;

use super::access::Access;
use super::inode::{InodeNumber, SIZE_SECTOR};
use super::tree::{Tree, TreePosition};
use super::{FileKind, Result};
use crate::{ReadRange, SECTOR_BYTES, ZERO_SECTOR};

/// The sector of an inode's device that holds its mode.
pub const MODE_SECTOR: u64 = SIZE_SECTOR + 1;
/// The sectors that hold extended attributes.
pub const XATTR_SECTORS: Range<u64> = MODE_SECTOR + 1..MODE_SECTOR + 1 + (1 << 32);
/// The sector that holds the owner of an inode, if it was changed.
pub const OWNER_SECTOR: u64 = XATTR_SECTORS.end;

/// The longest target of a symbolic link in bytes.
const TARGET_BYTES: usize = 4094;

/// Returns the contents of a sector in words. `None` if the sector holds neither a mode nor an
/// attribute.
pub fn describe(sector: u64) -> Option<&'static str> {
    match sector {
        MODE_SECTOR => Some("the mode"),
        OWNER_SECTOR => Some("the owner"),
        _ if XATTR_SECTORS.contains(&sector) => Some("an extended attribute"),
        _ => None,
    }
}

impl Tree {
    /// Makes a symbolic link at `place` with the target `target`. `ENAMETOOLONG` if the target is
    /// longer than 4094 bytes, `ENOENT` if it is empty.
    pub fn create_symlink(
        &mut self,
        place: &TreePosition<'_>,
        target: &str,
        born: Access,
    ) -> Result<InodeNumber> {
        if target.is_empty() {
            return Err(Errno::ENOENT);
        }
        if target.len() > TARGET_BYTES {
            return Err(Errno::ENAMETOOLONG);
        }
        let mut bytes = [&(target.len() as u16).to_le_bytes(), target.as_bytes()].concat();
        bytes.resize(bytes.len().next_multiple_of(SECTOR_BYTES), 0);
        let number = self.create(place, FileKind::Symlink, born)?;
        self.put(number, 0, bytes.into());
        Ok(number)
    }

    /// Returns the target of a symbolic link. `EINVAL` for any other kind of inode, `EIO` if the
    /// sectors were not written by [`create_symlink`](Tree::create_symlink).
    pub fn target(&self, number: InodeNumber) -> Result<String> {
        if self.inode(number).kind() != FileKind::Symlink {
            return Err(Errno::EINVAL);
        }
        let sector = self.sector(number, 0)?;
        let len = usize::from(u16::from_le_bytes([sector[0], sector[1]]));
        if len > TARGET_BYTES {
            return Err(Errno::EIO);
        }
        let mut target = vec![0; len];
        self.storage.try_read(self.device(number), 2, &mut target)?;
        String::from_utf8(target).map_err(|_| Errno::EIO)
    }

    /// Sets the mode of an inode.
    pub fn set_mode(&mut self, number: InodeNumber, mode: u32) {
        let mode = mode & 0o7777 | self.inode(number).born.special();
        self.dirty_attribute(number, MODE_SECTOR, &[&Access::stored_mode(mode)]);
    }

    /// Sets the user and the group of an inode.
    pub fn set_owner(&mut self, number: InodeNumber, user: u32, group: u32) {
        let stored = |id: u32| id.wrapping_add(1).to_le_bytes();
        self.dirty_attribute(number, OWNER_SECTOR, &[&stored(user), &stored(group)]);
    }

    /// Returns the mode of an inode. The mode at its creation if none was set.
    pub fn mode(&self, number: InodeNumber) -> Result<u32> {
        let sector = self.sector(number, MODE_SECTOR)?;
        let born = self.inode(number).born.mode;
        Ok(Access::loaded_mode([sector[0], sector[1]]).unwrap_or(born))
    }

    /// Returns the mode and the owner of an inode.
    pub fn access(&self, number: InodeNumber) -> Result<Access> {
        let born = self.inode(number).born;
        let sector = self.sector(number, OWNER_SECTOR)?;
        let id = |at: usize, born: u32| {
            let bytes = sector[at..at + 4].try_into().expect("four bytes");
            u32::from_le_bytes(bytes).checked_sub(1).unwrap_or(born)
        };
        Ok(Access { mode: self.mode(number)?, user: id(0, born.user), group: id(4, born.group) })
    }

    /// Sets an extended attribute. `ENOSPC` if it does not fit into a sector, or if another name
    /// has the same sector.
    pub fn set_attribute(&mut self, number: InodeNumber, name: &str, value: &[u8]) -> Result<()> {
        let at = sector_of(name);
        let other = self.sector(number, at)?;
        if other != ZERO_SECTOR && decode(&other)?.0 != name {
            return Err(Errno::ENOSPC);
        }
        let lengths = u8::try_from(name.len()).ok().zip(u16::try_from(value.len()).ok());
        let (name_bytes, value_bytes) = lengths.ok_or(Errno::ENOSPC)?;
        let parts = [&[name_bytes][..], &value_bytes.to_le_bytes(), name.as_bytes(), value];
        if sector(&parts).is_none() {
            return Err(Errno::ENOSPC);
        }
        self.dirty_attribute(number, at, &parts);
        Ok(())
    }

    /// Removes an extended attribute. `ENODATA` if there is no such attribute.
    pub fn remove_attribute(&mut self, number: InodeNumber, name: &str) -> Result<()> {
        if self.attributes(number)?.iter().all(|(other, _)| other != name) {
            return Err(Errno::ENODATA);
        }
        self.dirty_attribute(number, sector_of(name), &[]);
        Ok(())
    }

    /// Returns the extended attributes in order of their names.
    pub fn attributes(&self, number: InodeNumber) -> Result<Vec<(String, Vec<u8>)>> {
        let dev = self.device(number);
        self.storage.note(ReadRange::Device { dev });
        let image = self.storage.peek();
        let Some(disk) = image.disk(dev) else { return Ok(Vec::new()) };
        let found = disk.used_sectors(XATTR_SECTORS).map(|at| decode(&self.sector(number, at)?));
        let mut found = found.collect::<Result<Vec<_>>>()?;
        found.sort_unstable();
        Ok(found)
    }

    fn sector(&self, number: InodeNumber, at: u64) -> Result<[u8; SECTOR_BYTES]> {
        let mut sector = ZERO_SECTOR;
        self.storage.try_read(self.device(number), at * SECTOR_BYTES as u64, &mut sector)?;
        Ok(sector)
    }

    /// Changes a sector of attributes. The caller has checked that the parts fit.
    fn dirty_attribute(&mut self, number: InodeNumber, at: u64, parts: &[&[u8]]) {
        let bytes = sector(parts).expect("it fits");
        if self.journal.is_some() {
            return self.put(number, at, bytes);
        }
        self.inode_mut(number).dirty_attributes.insert(at);
        self.storage.dirty(self.device(number), at, bytes);
    }
}

/// Returns the sector of an attribute: the first one plus the 32-bit FNV-1a hash of its name.
fn sector_of(name: &str) -> u64 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    XATTR_SECTORS.start + u64::from(name.bytes().fold(0x811c_9dc5, step))
}

/// Returns a sector of the concatenated parts, filled up with zeroes. `None` if they do not fit.
fn sector(parts: &[&[u8]]) -> Option<Bytes> {
    let mut bytes = parts.concat();
    (bytes.len() <= SECTOR_BYTES).then(|| {
        bytes.resize(SECTOR_BYTES, 0);
        bytes.into()
    })
}

/// Decodes the name and the value that a sector holds. `EIO` if it holds no attribute.
fn decode(sector: &[u8; SECTOR_BYTES]) -> Result<(String, Vec<u8>)> {
    let name_end = 3 + usize::from(sector[0]);
    let end = name_end + usize::from(u16::from_le_bytes([sector[1], sector[2]]));
    let (name, value) = sector.get(3..name_end).zip(sector.get(name_end..end)).ok_or(Errno::EIO)?;
    let name = String::from_utf8(name.to_vec()).map_err(|_| Errno::EIO)?;
    Ok((name, value.to_vec()))
}
