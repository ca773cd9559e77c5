//! RAM disks of the kernel: made by `/dev/rdd-control`, read and written by mmap, restored by what has changed.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use explode_ekm_abi::user;
use explode_ekm_abi::wire::{BLOCKS_CHANGED, DiskSpec, RDD_MMAP_SHIFT};
use explode_ramdisk::{BLOCK_BYTES, Disk};
use nix::errno::Errno;

use super::map::Map;

/// One RAM disk, and what is known to be on it.
#[derive(Debug)]
pub(super) struct RddDisk {
    spec: DiskSpec,
    path: PathBuf,
    map: Map,
    /// Its contents, but for the blocks that the driver has listed as changed since.
    known: Disk,
}

impl RddDisk {
    /// Makes a disk of zeroes.
    pub fn create(control: &File, sectors: u64) -> Result<RddDisk, Errno> {
        let spec = user::create(control.as_fd(), sectors)?;
        let bytes = usize::try_from(sectors * explode_ekm_abi::wire::SECTOR).map_err(|_| Errno::EFBIG)?;
        let map = Map::new(control, i64::from(spec.disk) << RDD_MMAP_SHIFT, bytes, true)?;
        Ok(RddDisk { spec, path: PathBuf::from(format!("/dev/rdd{}", spec.disk)), map, known: Disk::new() })
    }

    /// Takes it away.
    pub fn remove(self, control: &File) -> Result<(), Errno> {
        drop(self.map);
        user::remove(control.as_fd(), self.spec.disk)
    }

    /// Its node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device numbers, size, number.
    pub fn spec(&self) -> &DiskSpec {
        &self.spec
    }

    /// What is on it now; costs what was written since the last call.
    pub fn contents(&mut self, control: &File) -> Result<&Disk, Errno> {
        let mut bytes = [0; BLOCK_BYTES];
        for block in self.changed(control)? {
            self.map.read(block as usize * BLOCK_BYTES, &mut bytes);
            self.known.write(u64::from(block) * (BLOCK_BYTES / 512) as u64, &bytes);
        }
        Ok(&self.known)
    }

    /// Makes it hold `wanted`; costs what was written since, and what differs from what it held then. Nobody may have it open:
    /// the page cache of a block device ends with its last user.
    pub fn restore(&mut self, control: &File, wanted: &Disk) -> Result<(), Errno> {
        let written = self.changed(control)?;
        let differing = self.known.changed_blocks(wanted);
        let mut bytes = [0; BLOCK_BYTES];
        for block in written.into_iter().map(u64::from).chain(differing) {
            wanted.read(block * BLOCK_BYTES as u64, &mut bytes);
            self.map.write(block as usize * BLOCK_BYTES, &bytes);
        }
        self.known = wanted.clone();
        Ok(())
    }

    fn changed(&self, control: &File) -> Result<Vec<u32>, Errno> {
        let mut blocks = Vec::new();
        user::take_blocks(control.as_fd(), self.spec.disk, BLOCKS_CHANGED, &mut blocks)?;
        Ok(blocks)
    }
}
