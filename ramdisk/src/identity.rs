//! 128-bit identity of disk contents, incremental by construction.
//!
//! The identity of a disk is the sum (modulo 2^128) of one hash per sector that is not all zeroes;
//! a sector's hash depends on its number and its bytes. So changing a sector costs two hashes
//! whatever the size of the disk, a disk of zeroes has identity 0 whatever its size, and the
//! identity of "this disk with these pieces applied" is a sum of differences that are known before
//! any disk is built. Several disks are one [`Image`](crate::Image) in the same way: each disk's
//! sum is multiplied by an odd number of its device, so that the same bytes on another device count
//! differently.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use crate::{SECTOR_BYTES, ZERO_SECTOR};

/// The identity of a disk or an image; a difference of two is one too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub u128);

/// The share of one sector: 0 if all its bytes are zero.
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
    /// The share that a disk of this identity has in an image, as device `dev`.
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

/// 32 hexadecimal digits.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
