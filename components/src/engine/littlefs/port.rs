//! The port of littlefs to [flash](crate::engine::flash): its layout and the calls of littlefs.

use std::rc::Rc;

use nix::errno::Errno;

use crate::engine::flash::Flash;

/// The size of the smallest cache in bytes.
const CACHE_BYTES: u32 = 64;

/// A port of littlefs to one flash device.
pub struct Port {
    /// The flash device.
    pub flash: Rc<Flash>,
    /// The size of the smallest read and program in bytes.
    pub unit: u32,
    /// The number of erasures after which metadata moves to another block. -1 is never.
    pub block_cycles: i32,
    /// True if sync calls reach the flash.
    pub syncs: bool,
}

impl Port {
    /// Returns the size of a cache in bytes. It divides the size of a block.
    pub fn cache_bytes(&self) -> u32 {
        self.unit.max(CACHE_BYTES)
    }

    /// Fills `buf` from byte `offset` of a block on.
    ///
    /// # Errors
    /// `EIO`.
    pub fn read(&self, block: u32, offset: u32, buf: &mut [u8]) -> Result<(), Errno> {
        self.flash.read(self.at(block, offset), buf)
    }

    /// Programs bytes of an erased block, from byte `offset` on.
    ///
    /// # Errors
    /// `EIO`.
    pub fn program(&self, block: u32, offset: u32, data: &[u8]) -> Result<(), Errno> {
        self.flash.program(self.at(block, offset), data)
    }

    /// Erases a block.
    pub fn erase(&self, block: u32) {
        self.flash.erase(block as usize);
    }

    /// Makes all operations durable, if sync calls reach the flash.
    pub fn sync(&self) {
        if self.syncs {
            self.flash.sync();
        }
    }

    fn at(&self, block: u32, offset: u32) -> usize {
        block as usize * self.flash.block_bytes() + offset as usize
    }
}
