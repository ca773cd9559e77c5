//! Sectors and blocks: their sizes and their bytes.

use std::sync::Arc;

/// The size of a sector in bytes. Addresses are in sectors.
pub const SECTOR_BYTES: usize = 512;
/// The size of a block in bytes. Disks share contents in blocks.
pub const BLOCK_BYTES: usize = 4096;
/// A sector of zeroes.
pub const ZERO_SECTOR: [u8; SECTOR_BYTES] = [0; SECTOR_BYTES];
pub(crate) const ZERO_BLOCK: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
/// The number of sectors in a block.
pub const SECTORS_PER_BLOCK: u64 = (BLOCK_BYTES / SECTOR_BYTES) as u64;

/// The bytes of one block, which disks may share.
pub type Block = Arc<[u8; BLOCK_BYTES]>;
