//! The mapping from a file's blocks to those of the device.

use explode_ramdisk::files::Result;
use nix::errno::Errno;

use super::inode::{DIRECT, INDIRECT, ToyInode, block_number};
use super::volume::Volume;
use crate::broken::page_journal::BLOCK;

impl ToyInode {
    /// Returns the block of the device with block `index` of the contents. `None` if there is a
    /// hole.
    ///
    /// # Errors
    /// `EIO`: the indirect block cannot be read, or a pointer is damaged.
    pub fn block(&self, volume: &Volume, index: u64) -> Result<Option<u64>> {
        let block = match index.checked_sub(DIRECT) {
            None => self.direct[index as usize],
            Some(index) if self.indirect != 0 && index < INDIRECT => {
                let at = 4 * index as usize;
                block_number(&volume.read(volume.legal(self.indirect.into())?)?[at..at + 4])
            }
            Some(_) => 0,
        };
        (block != 0).then(|| volume.legal(block.into())).transpose()
    }

    /// Allocates a block of the device for block `index` of the contents, and an indirect block if
    /// it is needed.
    ///
    /// # Errors
    /// `EFBIG`, `ENOSPC`; `EIO` as for [`ToyInode::block`].
    pub fn add_block(&mut self, volume: &mut Volume, index: u64) -> Result<u64> {
        let Some(index) = index.checked_sub(DIRECT) else {
            let block = volume.allocate()?;
            self.direct[index as usize] = block as u32;
            return Ok(block);
        };
        if index >= INDIRECT {
            return Err(Errno::EFBIG);
        }
        if self.indirect == 0 {
            self.indirect = volume.allocate()? as u32;
            volume.write_metadata(self.indirect.into(), vec![0; BLOCK])?;
        }
        let block = volume.allocate()?;
        let mut page = volume.read(volume.legal(self.indirect.into())?)?;
        let at = 4 * index as usize;
        page[at..at + 4].copy_from_slice(&(block as u32).to_le_bytes());
        volume.write_metadata(self.indirect.into(), page)?;
        Ok(block)
    }

    /// Frees every block from block `first` of the contents on.
    ///
    /// # Errors
    /// `EIO` as for [`ToyInode::block`].
    pub fn free_from(&mut self, volume: &mut Volume, first: u64) -> Result<()> {
        for index in first..DIRECT {
            volume.free(std::mem::take(&mut self.direct[index as usize]).into());
        }
        if self.indirect == 0 {
            return Ok(());
        }
        let kept = 4 * first.saturating_sub(DIRECT).min(INDIRECT) as usize;
        let mut page = volume.read(volume.legal(self.indirect.into())?)?;
        page[kept..].chunks(4).for_each(|bytes| volume.free(block_number(bytes).into()));
        if kept == 0 {
            volume.free(std::mem::take(&mut self.indirect).into());
        } else {
            page[kept..].fill(0);
            volume.write_metadata(self.indirect.into(), page)?;
        }
        Ok(())
    }
}
