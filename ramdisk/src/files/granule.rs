//! The unit in which the contents of files are written.

use std::ops::Range;

use nix::errno::Errno;

use super::Result;
use super::inode::SIZE_SECTOR;
use crate::{BLOCK_BYTES, SECTOR_BYTES};

/// The unit of the contents of files in bytes: a multiple of 512, by default 4096. It is written
/// whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granule(pub u32);

impl Default for Granule {
    fn default() -> Granule {
        Granule(BLOCK_BYTES as u32)
    }
}

impl Granule {
    /// Returns the granule if it is whole sectors, else `EINVAL`.
    pub(super) fn checked(self) -> Result<Granule> {
        let fits = self.0 > 0 && self.0.is_multiple_of(SECTOR_BYTES as u32);
        fits.then_some(self).ok_or(Errno::EINVAL)
    }

    /// Returns the range of whole granules that a range of bytes touches.
    pub(super) fn around(self, range: Range<u64>) -> Range<u64> {
        let granule = u64::from(self.0);
        range.start / granule * granule..range.end.div_ceil(granule) * granule
    }

    /// Returns the size of the largest file in bytes: the whole granules before the sector of the
    /// size.
    pub(super) fn most(self) -> u64 {
        let granule = u64::from(self.0);
        SIZE_SECTOR * SECTOR_BYTES as u64 / granule * granule
    }
}
