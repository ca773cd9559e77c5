//! The disk on top of a stack: a simulated one, or a block device of the kernel.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use explode_ramdisk::{BLOCK_BYTES, Flags, RamDisk, SECTOR_BYTES, SECTORS_PER_BLOCK};
use explode_runtime::base::StepError;
use explode_runtime::stack::{Stack, Surface};
use nix::fcntl::OFlag;

/// The disk on top of a stack, in blocks.
pub(super) enum TopDisk {
    Simulated(RamDisk),
    /// The node of a block device. It is only open during a call, so that the layers below can be
    /// stopped. Direct I/O leaves nothing in the page cache.
    Kernel(PathBuf),
}

impl TopDisk {
    /// Returns the disk that the stack's top offers.
    ///
    /// # Errors
    /// The top is no disk.
    pub fn of(stack: &Stack) -> Result<TopDisk, StepError> {
        match stack.top() {
            Surface::Block(node) => Ok(TopDisk::Kernel(node)),
            _ => stack.disk().map(TopDisk::Simulated),
        }
    }

    /// Returns the size in sectors.
    ///
    /// # Errors
    /// The device cannot be opened.
    pub fn sectors(&self) -> Result<u64, StepError> {
        match self {
            TopDisk::Simulated(disk) => Ok(disk.sectors()),
            TopDisk::Kernel(node) => {
                let end =
                    open(node, OFlag::empty()).and_then(|mut device| device.seek(SeekFrom::End(0)));
                Ok(end.map_err(|error| fault(node, "open", &error))? / SECTOR_BYTES as u64)
            }
        }
    }

    /// Reads a block. `None` if it cannot be read.
    pub fn read(&self, block: usize) -> Option<Vec<u8>> {
        match self {
            TopDisk::Simulated(disk) => {
                let mut bytes = vec![0; BLOCK_BYTES];
                disk.try_read(block as u64 * SECTORS_PER_BLOCK, &mut bytes).ok().map(|()| bytes)
            }
            TopDisk::Kernel(node) => {
                let mut aligned = Aligned::new();
                let device = open(node, OFlag::O_DIRECT).ok()?;
                device.read_exact_at(aligned.bytes(), start(block)).ok()?;
                Some(aligned.bytes().to_vec())
            }
        }
    }

    /// Writes a block. With `is_durable` it is durable when this returns.
    ///
    /// # Errors
    /// The device refuses the write.
    pub fn write(&self, block: usize, bytes: &[u8], is_durable: bool) -> Result<(), StepError> {
        match self {
            TopDisk::Simulated(disk) => {
                let flags = if is_durable { Flags::FUA } else { Flags::NONE };
                disk.write(block as u64 * SECTORS_PER_BLOCK, bytes, flags);
                Ok(())
            }
            TopDisk::Kernel(node) => {
                let mut aligned = Aligned::new();
                aligned.bytes().copy_from_slice(bytes);
                let dsync = if is_durable { OFlag::O_DSYNC } else { OFlag::empty() };
                let written = open(node, OFlag::O_DIRECT | dsync)
                    .and_then(|device| device.write_all_at(aligned.bytes(), start(block)));
                written.map_err(|error| fault(node, "write to", &error))
            }
        }
    }

    /// Makes everything durable that was written.
    ///
    /// # Errors
    /// The device refuses the flush.
    pub fn flush(&self) -> Result<(), StepError> {
        match self {
            TopDisk::Simulated(disk) => {
                disk.flush();
                Ok(())
            }
            TopDisk::Kernel(node) => open(node, OFlag::O_DIRECT)
                .and_then(|device| device.sync_all())
                .map_err(|error| fault(node, "flush", &error)),
        }
    }
}

/// Returns the first byte of a block.
fn start(block: usize) -> u64 {
    (block * BLOCK_BYTES) as u64
}

fn open(node: &Path, flags: OFlag) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(flags.bits()).open(node)
}

fn fault(node: &Path, what: &str, error: &io::Error) -> StepError {
    StepError::new(format!("cannot {what} {}: {error}", node.display()))
}

/// Room for a block at an address that direct I/O accepts.
struct Aligned(Vec<u8>);

impl Aligned {
    fn new() -> Aligned {
        Aligned(vec![0; 2 * BLOCK_BYTES])
    }

    fn bytes(&mut self) -> &mut [u8] {
        let from = self.0.as_ptr().align_offset(BLOCK_BYTES);
        &mut self.0[from..from + BLOCK_BYTES]
    }
}
