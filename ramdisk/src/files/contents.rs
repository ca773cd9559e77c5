//! Reads, writes and changes of size of the contents of files.
//!
//! The bytes of files are on the devices only, not in memory. Bytes on the device beyond the size
//! of a file are not visible. They must be overwritten with zeroes before the file grows over them.
//! A write does that for the granules that it touches.

use std::ops::Range;

use bytes::Bytes;
use nix::errno::Errno;

use super::Result;
use super::inode::{InodeBody, InodeNumber, SIZE_SECTOR};
use super::journal::{Cut, Touch};
use super::runs::Runs;
use super::tree::Tree;
use crate::{ReadRange, SECTOR_BYTES, ZERO_SECTOR};

const SECTOR: u64 = SECTOR_BYTES as u64;

impl Tree {
    /// Fills `buf` from a file's byte `offset` on, up to the end of the file. Returns the number of
    /// bytes. `EIO` if the medium cannot be read.
    pub fn read(&self, file: InodeNumber, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let left = self.inode(file).size().saturating_sub(offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        self.storage.try_read(self.device(file), offset, &mut buf[..len])?;
        Ok(len)
    }

    /// Writes `data` at byte `offset`. First the gap between the old end of the file and the data
    /// becomes zeroes, then the touched granules are written whole, then the size if it grew.
    /// `EFBIG` beyond the largest file. `EIO` if the rest of a touched granule cannot be read.
    pub fn write(&mut self, file: InodeNumber, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset.checked_add(data.len() as u64).filter(|end| *end <= self.granule.most());
        let end = end.ok_or(Errno::EFBIG)?;
        if data.is_empty() {
            return Ok(());
        }
        let size = self.inode(file).size();
        let range = self.granule.around(offset..end);
        let bytes = self.patched(file, range.clone(), offset, data)?;
        if self.journal.is_some() {
            return self.write_journalled(file, range, &bytes, end);
        }
        self.clear_gap(file, size..range.start)?;
        self.dirty(file, range.start / SECTOR, bytes);
        self.set_size(file, size.max(end));
        Ok(())
    }

    /// Writes whole granules of a file. The journal notes them. Bytes beyond the size are zeroes.
    fn write_journalled(
        &mut self,
        file: InodeNumber,
        range: Range<u64>,
        bytes: &Bytes,
        end: u64,
    ) -> Result<()> {
        let before = self.inode(file).size();
        let size = before.max(end);
        let dev = self.device(file);
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.may_hold(range.end)?;
        self.storage.remember(dev, range.start / SECTOR, bytes);
        journal.write(file, range.start, bytes, size, size > before);
        if let InodeBody::File { size: had } = &mut self.inode_mut(file).body {
            *had = size;
        }
        self.storage.remember(dev, SIZE_SECTOR, &size_sector(size));
        Ok(())
    }

    /// Makes a range of a file zeroes, without a change of its size, as a change of the journal.
    /// `EFBIG` if the journal has too many changes.
    pub(super) fn cut(&mut self, file: InodeNumber, range: Range<u64>) -> Result<()> {
        let size = self.inode(file).size();
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.may_hold(size)?;
        journal.cut(Cut { file, start: range.start, end: range.end });
        Ok(())
    }

    /// Makes the size of a file part of the call.
    pub(super) fn put_size(&mut self, file: InodeNumber) {
        self.storage.note_sector(self.device(file), SIZE_SECTOR);
        self.put(file, SIZE_SECTOR, size_sector(self.inode(file).size()));
    }

    /// Sets the size of a file. `EFBIG` beyond the largest file, `EIO` if the granule at the old
    /// end cannot be read.
    pub fn resize(&mut self, file: InodeNumber, size: u64) -> Result<()> {
        if size > self.granule.most() {
            return Err(Errno::EFBIG);
        }
        let before = self.inode(file).size();
        if self.journal.is_some() && size < before {
            self.cut(file, size..self.granule.most())?;
        }
        self.clear_gap(file, before..size)?;
        self.set_size(file, size);
        Ok(())
    }

    fn set_size(&mut self, file: InodeNumber, new: u64) {
        let has_journal = self.journal.is_some();
        let inode = self.inode_mut(file);
        let InodeBody::File { size } = &mut inode.body else { return };
        if std::mem::replace(size, new) == new {
            return;
        }
        if has_journal {
            // fdatasync(2) waits for a new size (ext4: `ext4_do_update_inode` with `need_datasync`;
            // XFS: `xfs_fsync_seq` leaves out timestamps alone).
            self.touch(file, Touch::Data);
            return self.put_size(file);
        }
        inode.dirty_size = true;
        self.storage.dirty(self.device(file), SIZE_SECTOR, size_sector(new));
    }

    /// Returns the visible bytes of a range of a file, with `data` over them from byte `offset` on.
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

    /// Writes zeroes to those granules of the gap that hold other bytes. The gap begins at the end
    /// of the file. Only its first granule has visible bytes to read, so a call that fails has
    /// changed nothing.
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

    /// Returns the granules, in sectors, that hold a non-zero byte in a range of a file's device.
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

/// Returns a sector with a size.
fn size_sector(size: u64) -> Bytes {
    let mut sector = ZERO_SECTOR;
    sector[..size_of::<u64>()].copy_from_slice(&size.to_le_bytes());
    Bytes::copy_from_slice(&sector)
}
