//! `--base`: the image of a device as a disk. Zeroes and the holes of a file take no memory.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use explode_ramdisk::{BLOCK_BYTES, Disk, SECTOR_BYTES, ZERO_SECTOR};
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

/// The most bytes of all images of `--base` together, without zeroes.
pub(super) const MOST_BASE: u64 = 1 << 32;
/// The number of bytes that are read at once.
const PART: usize = 1 << 20;

/// Reads the image of a device of this size. `left` is the number of nonzero bytes that may still
/// be read.
///
/// # Errors
/// A message: the file cannot be read, has another size, or has more than `left` nonzero bytes.
pub fn read(path: &Path, size: u64, left: &mut u64) -> Result<Disk, String> {
    let text = |error: io::Error| error.to_string();
    let mut file = File::open(path).map_err(text)?;
    let kind = file.metadata().map_err(text)?.file_type();
    if kind.is_char_device() {
        return Err(format!(
            "a character device is no image; name a file of {size} bytes (--size)"
        ));
    }
    let mut disk = Disk::new();
    let mut reading = Reading { disk: &mut disk, size, at: 0, left };
    if kind.is_file() || kind.is_block_device() {
        let len = file.seek(SeekFrom::End(0)).map_err(text)?;
        if len != size {
            return Err(wrong_size(len, size));
        }
        reading.parts(&mut file)?;
    } else {
        // A pipe may not end.
        reading.some(&mut (&mut file).take(size.min(MOST_BASE) + 1))?;
        let read = reading.at;
        if read > size {
            return Err(wrong_size(format!("more than {size}"), size));
        }
        if read > MOST_BASE {
            return Err(format!("more than {MOST_BASE} bytes come through a pipe; name a file"));
        }
        if read < size {
            return Err(wrong_size(read, size));
        }
    }
    Ok(disk)
}

fn wrong_size(len: impl Display, size: u64) -> String {
    format!("{len} bytes, and the device has {size} (--size)")
}

fn too_much() -> String {
    format!(
        "the images of --base have more than {MOST_BASE} bytes that are not zero; use smaller \
         images"
    )
}

struct Reading<'a> {
    disk: &'a mut Disk,
    size: u64,
    /// The offset of the next bytes.
    at: u64,
    left: &'a mut u64,
}

impl Reading<'_> {
    /// Reads a file without its holes.
    fn parts(&mut self, file: &mut File) -> Result<(), String> {
        while self.at < self.size {
            let (start, end) = data_from(file, self.at, self.size)?;
            file.seek(SeekFrom::Start(start)).map_err(|error| error.to_string())?;
            self.at = start;
            self.some(&mut file.take(end - start))?;
            if self.at != end {
                return Err(wrong_size(self.at, self.size));
            }
        }
        Ok(())
    }

    /// Reads to the end of the input.
    fn some(&mut self, input: &mut impl Read) -> Result<(), String> {
        let mut bytes = Vec::with_capacity(PART);
        loop {
            bytes.clear();
            input
                .by_ref()
                .take(PART as u64)
                .read_to_end(&mut bytes)
                .map_err(|error| error.to_string())?;
            if bytes.is_empty() {
                return Ok(());
            }
            let whole = bytes.len() / SECTOR_BYTES * SECTOR_BYTES;
            let sectors = bytes[..whole].chunks_exact(SECTOR_BYTES);
            let held = sectors.filter(|sector| **sector != ZERO_SECTOR).count() * SECTOR_BYTES;
            *self.left = self.left.checked_sub(held as u64).ok_or_else(too_much)?;
            if held > 0 {
                self.disk.write(self.at / SECTOR_BYTES as u64, &bytes[..whole]);
            }
            self.at += bytes.len() as u64;
        }
    }
}

/// Returns the next part of a file from `at` on that is no hole, in whole blocks. Returns the end
/// of the file without such a part.
fn data_from(file: &File, at: u64, size: u64) -> Result<(u64, u64), String> {
    let seek = |at: u64, whence| lseek(file, at as i64, whence).map(|at| at as u64);
    let block = BLOCK_BYTES as u64;
    match seek(at, Whence::SeekData) {
        Err(Errno::ENXIO) => Ok((size, size)),
        // The file system or the block device does not report holes.
        Err(Errno::EINVAL | Errno::EOPNOTSUPP) => Ok((at, size)),
        Err(error) => Err(error.to_string()),
        Ok(start) => {
            let end = seek(start, Whence::SeekHole).map_err(|error| error.to_string())?;
            let start = (start / block * block).max(at);
            Ok((start, end.div_ceil(block).saturating_mul(block).min(size)))
        }
    }
}
