//! A disk as the byte stream that fatfs needs. Sectors are read, changed and written.

use std::io::{self, Read, Seek, SeekFrom, Write};

use explode_ramdisk::{Flags, RamDisk, SECTOR_BYTES};

/// A disk and a position on it.
pub struct Bytes {
    disk: RamDisk,
    at: u64,
}

impl Bytes {
    /// Starts at the beginning of a disk.
    pub fn new(disk: RamDisk) -> Bytes {
        Bytes { disk, at: 0 }
    }

    fn len(&self) -> u64 {
        self.disk.sectors() * SECTOR_BYTES as u64
    }

    /// Reads the sectors around the next `bytes` bytes. Returns the first sector's number, the
    /// offset of the bytes in it, and the contents.
    fn around(&self, bytes: usize) -> io::Result<(u64, usize, Vec<u8>)> {
        let (first, within) =
            (self.at / SECTOR_BYTES as u64, (self.at % SECTOR_BYTES as u64) as usize);
        let mut sectors = vec![0; (within + bytes).next_multiple_of(SECTOR_BYTES)];
        self.disk.try_read(first, &mut sectors)?;
        Ok((first, within, sectors))
    }

    /// Limits `bytes` to the number of bytes before the end.
    fn left(&self, bytes: usize) -> usize {
        bytes.min(self.len().saturating_sub(self.at) as usize)
    }
}

impl Read for Bytes {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = self.left(buf.len());
        let (_, within, sectors) = self.around(bytes)?;
        buf[..bytes].copy_from_slice(&sectors[within..within + bytes]);
        self.at += bytes as u64;
        Ok(bytes)
    }
}

impl Write for Bytes {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let bytes = self.left(buf.len());
        let (first, within, mut sectors) = self.around(bytes)?;
        sectors[within..within + bytes].copy_from_slice(&buf[..bytes]);
        self.disk.write(first, &sectors, Flags::NONE);
        self.at += bytes as u64;
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.disk.flush();
        Ok(())
    }
}

impl Seek for Bytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.len().checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
