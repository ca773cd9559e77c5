//! The contents of files: reading, writing, changing the size.
//!
//! Bytes stay on the device: nothing here holds a file. What lies on the device beyond a file's
//! size is not seen, and must be written as zeroes before the file grows over it; a write does that
//! for the granules that it touches.

use std::ops::Range;

use bytes::Bytes;
use nix::errno::Errno;

use super::Result;
use super::inode::{InodeBody, InodeNumber, SIZE_SECTOR};
use super::runs::Runs;
use super::tree::Tree;
use crate::{ReadRange, SECTOR_BYTES, ZERO_SECTOR};

const SECTOR: u64 = SECTOR_BYTES as u64;

impl Tree {
    /// Fills `buf` from a file's byte `offset` on, up to the end of the file; returns how many
    /// bytes that is. `EIO` where the medium cannot be read.
    pub fn read(&self, file: InodeNumber, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let left = self.inode(file).size().saturating_sub(offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        self.storage.try_read(self.device(file), offset, &mut buf[..len])?;
        Ok(len)
    }

    /// Writes `data` at byte `offset`: what it leaves out between the old end and itself becomes
    /// zeroes, then the granules that it touches are written whole, then the size if it grew.
    /// `EFBIG` beyond the largest file; `EIO` where what is around the data in a granule cannot be
    /// read.
    pub fn write(&mut self, file: InodeNumber, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset.checked_add(data.len() as u64).filter(|end| *end <= self.granule.most());
        let end = end.ok_or(Errno::EFBIG)?;
        if data.is_empty() {
            return Ok(());
        }
        let size = self.inode(file).size();
        let range = self.granule.around(offset..end);
        let bytes = self.patched(file, range.clone(), offset, data)?;
        self.clear_gap(file, size..range.start)?;
        self.dirty(file, range.start / SECTOR, bytes);
        self.set_size(file, size.max(end));
        Ok(())
    }

    /// Sets a file's size; `EFBIG` beyond the largest file, `EIO` where the granule at the old end
    /// cannot be read.
    pub fn resize(&mut self, file: InodeNumber, size: u64) -> Result<()> {
        if size > self.granule.most() {
            return Err(Errno::EFBIG);
        }
        self.clear_gap(file, self.inode(file).size()..size)?;
        self.set_size(file, size);
        Ok(())
    }

    fn set_size(&mut self, file: InodeNumber, new: u64) {
        let inode = self.inode_mut(file);
        let InodeBody::File { size } = &mut inode.body else { return };
        if std::mem::replace(size, new) == new {
            return;
        }
        inode.dirty_size = true;
        let mut sector = ZERO_SECTOR;
        sector[..size_of::<u64>()].copy_from_slice(&new.to_le_bytes());
        self.storage.dirty(self.device(file), SIZE_SECTOR, Bytes::copy_from_slice(&sector));
    }

    /// The bytes of a range of a file, as they are seen, with `data` over them from byte `offset`
    /// on.
    fn patched(
        &self,
        file: InodeNumber,
        range: Range<u64>,
        offset: u64,
        data: &[u8],
    ) -> Result<Bytes> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        let (head, rest) = bytes.split_at_mut((offset - range.start) as usize);
        let (middle, tail) = rest.split_at_mut(data.len());
        self.read(file, range.start, head)?;
        middle.copy_from_slice(data);
        self.read(file, offset + data.len() as u64, tail)?;
        Ok(bytes.into())
    }

    /// Writes zeroes to the granules of a range that begins at the end of the file, where they hold
    /// something else. Only the first of them has bytes to read, so a call that fails has changed
    /// nothing.
    fn clear_gap(&mut self, file: InodeNumber, gap: Range<u64>) -> Result<()> {
        if gap.is_empty() {
            return Ok(());
        }
        for run in self.granules_in_use(file, gap).iter() {
            let first = run.start * SECTOR;
            let bytes = self.patched(file, first..run.end * SECTOR, first, &[])?;
            self.dirty(file, run.start, bytes);
        }
        Ok(())
    }

    /// The granules, in sectors, that hold a byte that is not zero in a range of a file's device.
    fn granules_in_use(&self, file: InodeNumber, range: Range<u64>) -> Runs {
        let mut runs = Runs::default();
        let image = self.storage.peek();
        self.storage.note(ReadRange::Device { dev: self.device(file) });
        let Some(disk) = image.disk(self.device(file)) else { return runs };
        for sector in disk.used_sectors(range.start / SECTOR..range.end.div_ceil(SECTOR)) {
            let start = sector * SECTOR;
            let part = range.start.max(start) - start..range.end.min(start + SECTOR) - start;
            let bytes = &disk.sector(sector)[part.start as usize..part.end as usize];
            if bytes.iter().any(|byte| *byte != 0) {
                let granule = self.granule.around(start..start + SECTOR);
                runs.insert(granule.start / SECTOR..granule.end / SECTOR);
            }
        }
        runs
    }
}
