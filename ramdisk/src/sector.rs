//! Sectors and blocks: their sizes and their bytes.

use std::sync::Arc;

/// Bytes of a sector, the unit of addresses.
pub const SECTOR_BYTES: usize = 512;
/// Bytes of a block, the unit of sharing.
pub const BLOCK_BYTES: usize = 4096;
/// A sector of zeroes.
pub const ZERO_SECTOR: [u8; SECTOR_BYTES] = [0; SECTOR_BYTES];
pub(crate) const ZERO_BLOCK: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
/// Sectors of a block.
pub const SECTORS_PER_BLOCK: u64 = (BLOCK_BYTES / SECTOR_BYTES) as u64;

/// The bytes of one block, which disks may share.
pub type Block = Arc<[u8; BLOCK_BYTES]>;
