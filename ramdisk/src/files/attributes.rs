//! The attributes of an inode: its mode, its extended attributes, and the target of a symbolic
//! link.
//!
//! They are stored only on the device of the inode. The mode is in the sector after that of the
//! size ([`MODE_SECTOR`]). Each extended attribute is in one of the sectors after the mode
//! ([`XATTR_SECTORS`]), chosen by a hash of its name. Each is therefore a version that a crash
//! keeps or loses separately. A sector of zeroes is the mode of a new inode, or no attribute. The
//! target of a symbolic link is in the first sector.
//!
//! | sector | bytes |
//! | --- | --- |
//! | mode | 2, little endian, with the highest bit set |
//! | attribute | length of the name, 1; of the value, 2, little endian; the name, UTF-8; the value |
//! | target | its length, 2, little endian; the target, UTF-8 |

use std::ops::Range;

use bytes::Bytes;
use nix::errno::Errno;

use super::inode::{InodeNumber, SIZE_SECTOR};
use super::tree::{Tree, TreePosition};
use super::{FileKind, Result};
use crate::{ReadRange, SECTOR_BYTES, ZERO_SECTOR};

/// The sector of an inode's device that holds its mode.
pub const MODE_SECTOR: u64 = SIZE_SECTOR + 1;
/// The sectors that hold extended attributes.
pub const XATTR_SECTORS: Range<u64> = MODE_SECTOR + 1..MODE_SECTOR + 1 + (1 << 32);

/// The bit that marks a mode that was set.
const SET: u16 = 1 << 15;
/// The permission bits of a mode.
const MODE: u16 = 0o7777;

/// Returns the contents of a sector in words. `None` if the sector holds neither a mode nor an
/// attribute.
pub fn describe(sector: u64) -> Option<&'static str> {
    match sector {
        MODE_SECTOR => Some("the mode"),
        _ if XATTR_SECTORS.contains(&sector) => Some("an extended attribute"),
        _ => None,
    }
}

impl Tree {
    /// Makes a symbolic link at `place` with the target `target`. `ENAMETOOLONG` if the target is
    /// longer than 510 bytes, `ENOENT` if it is empty.
    pub fn create_symlink(&mut self, place: &TreePosition<'_>, target: &str) -> Result<()> {
        if target.is_empty() {
            return Err(Errno::ENOENT);
        }
        let sector = sector(&[&(target.len() as u16).to_le_bytes(), target.as_bytes()]);
        let sector = sector.ok_or(Errno::ENAMETOOLONG)?;
        let number = self.create(place, FileKind::Symlink)?;
        self.dirty(number, 0, sector);
        Ok(())
    }

    /// Returns the target of a symbolic link. `EINVAL` for any other kind of inode, `EIO` if the
    /// sector was not written by [`create_symlink`](Tree::create_symlink).
    pub fn target(&self, number: InodeNumber) -> Result<String> {
        if self.inode(number).kind() != FileKind::Symlink {
            return Err(Errno::EINVAL);
        }
        let sector = self.sector(number, 0)?;
        let end = 2 + usize::from(u16::from_le_bytes([sector[0], sector[1]]));
        let target = sector.get(2..end).ok_or(Errno::EIO)?;
        String::from_utf8(target.to_vec()).map_err(|_| Errno::EIO)
    }

    /// Sets the mode of an inode.
    pub fn set_mode(&mut self, number: InodeNumber, mode: u32) {
        let mode = mode as u16 & MODE | SET;
        self.dirty_attribute(number, MODE_SECTOR, &[&mode.to_le_bytes()]);
    }

    /// Returns the mode of an inode. The mode of a new inode if none was set.
    pub fn mode(&self, number: InodeNumber) -> Result<u32> {
        let sector = self.sector(number, MODE_SECTOR)?;
        let mode = u16::from_le_bytes([sector[0], sector[1]]);
        Ok(match (mode & SET, self.inode(number).kind()) {
            (0, FileKind::Directory) => 0o755,
            (0, FileKind::File) => 0o644,
            (0, FileKind::Symlink) => 0o777,
            _ => (mode & MODE).into(),
        })
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
        self.inode_mut(number).dirty_attributes.insert(at);
        self.storage.dirty(self.device(number), at, sector(parts).expect("it fits"));
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
