//! A RAM disk of the kernel without recording, to measure the cost of explode.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use explode_ekm_abi::user;
use explode_ekm_abi::wire::{BLOCKS_CHANGED, RDD_MMAP_SHIFT, SECTOR};
use explode_ramdisk::BLOCK_BYTES;

use super::map::DeviceMapping;
use super::rdd::open_control;

/// A disk of zeroes without a log. A drop removes it.
#[derive(Debug)]
pub struct UnrecordedDisk {
    control: File,
    number: u32,
    path: PathBuf,
    /// `None` while the disk is being removed.
    map: Option<DeviceMapping>,
}

impl UnrecordedDisk {
    /// Makes a disk with `sectors` sectors.
    ///
    /// # Errors
    /// The driver is missing or has no room.
    pub fn create(sectors: u64) -> io::Result<UnrecordedDisk> {
        let control = open_control()?;
        let bytes = usize::try_from(sectors * SECTOR).map_err(io::Error::other)?;
        let number = user::create(control.as_fd(), sectors)?.disk;
        let path = PathBuf::from(format!("/dev/rdd{number}"));
        let mut disk = UnrecordedDisk { control, number, path, map: None };
        disk.map = Some(DeviceMapping::new(
            &disk.control,
            i64::from(number) << RDD_MMAP_SHIFT,
            bytes,
            true,
        )?);
        Ok(disk)
    }

    /// Returns the path of the node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores the blocks that were written since the last call into `into`, in any order.
    ///
    /// # Errors
    /// The call of the driver fails.
    pub fn take_changed(&self, into: &mut Vec<u32>) -> io::Result<()> {
        Ok(user::take_blocks(self.control.as_fd(), self.number, BLOCKS_CHANGED, into)?)
    }

    /// Writes a block without a request. The disk must not be open.
    pub fn write(&self, block: u32, bytes: &[u8; BLOCK_BYTES]) {
        let map = self.map.as_ref().expect("it is mapped until it is removed");
        map.write(block as usize * BLOCK_BYTES, bytes);
    }
}

impl Drop for UnrecordedDisk {
    fn drop(&mut self) {
        self.map = None;
        // A disk that is in use stays until the machine stops.
        user::remove(self.control.as_fd(), self.number).ok();
    }
}
