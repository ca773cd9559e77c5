//! The 128-bit identity of disk contents, which is computed incrementally.
//!
//! The identity of a disk is the sum (modulo 2^128) of one hash for each sector that is not all
//! zeroes. The hash of a sector depends on its number and its bytes. A change of a sector therefore
//! costs two hashes, whatever the size of the disk, and a disk of zeroes has identity 0, whatever
//! its size. The identity of a disk with pieces applied is a sum of differences that are known
//! before any disk is built. The identity of an [`Image`](crate::Image) is a sum over its disks.
//! Each disk's sum is multiplied by an odd number derived from its device number, so that the same
//! bytes on another device count differently.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use crate::{SECTOR_BYTES, ZERO_SECTOR};

/// The identity of a disk or an image, or the difference of two identities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub u128);

/// Returns the share of one sector in the identity of its disk. 0 if all its bytes are zero.
///
/// # Panics
/// If `data` is not [`SECTOR_BYTES`] long.
pub fn sector_identity(sector: u64, data: &[u8]) -> Identity {
    assert_eq!(data.len(), SECTOR_BYTES, "a sector is {SECTOR_BYTES} bytes");
    if data == ZERO_SECTOR {
        return Identity::default();
    }
    Identity(xxh3_128_with_seed(data, sector.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

impl Identity {
    /// Returns the share of a disk with this identity in an image that has the disk as device
    /// `dev`.
    pub fn on_device(self, dev: u32) -> Identity {
        let low = xxh3_64(&dev.to_le_bytes());
        self * ((u128::from(!low) << 64 | u128::from(low)) | 1)
    }
}

impl Add for Identity {
    type Output = Identity;
    fn add(self, other: Identity) -> Identity {
        Identity(self.0.wrapping_add(other.0))
    }
}

impl Sub for Identity {
    type Output = Identity;
    fn sub(self, other: Identity) -> Identity {
        Identity(self.0.wrapping_sub(other.0))
    }
}

impl Mul<u128> for Identity {
    type Output = Identity;
    fn mul(self, factor: u128) -> Identity {
        Identity(self.0.wrapping_mul(factor))
    }
}

impl AddAssign for Identity {
    fn add_assign(&mut self, other: Identity) {
        *self = *self + other;
    }
}

impl SubAssign for Identity {
    fn sub_assign(&mut self, other: Identity) {
        *self = *self - other;
    }
}

/// Writes 32 hexadecimal digits.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
