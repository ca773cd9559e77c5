//! The restore by itself: the contents of a kernel RAM disk are restored after blocks were written.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use explode_ramdisk::{BLOCK_BYTES, Disk, Image, Recording, SECTOR_BYTES, SECTORS_PER_BLOCK};
use serde::{Deserialize, Serialize};

use super::rounds::median_us;
use explode_kernel::{DiskModel, KernelDisks};
use explode_runtime::base::{RunError, StepError};
use explode_runtime::devices::{Backend, HostId, Side};

/// Sizes of the disks that are restored, in MiB. Only one disk exists at a time.
pub const RESTORE_MIB: [u64; 4] = [16, 64, 256, 1024];
/// The number of restores of each size.
const TIMES: usize = 101;
/// The number of blocks that are written before each restore, spread over the disk.
const BLOCKS: u64 = 20;
const SECTORS_PER_MIB: u64 = (1 << 20) / SECTOR_BYTES as u64;

/// The cost of restoring a disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestoreCost {
    /// Size of the disk in MiB.
    pub mib: u64,
    /// The number of blocks written since the restore before.
    pub blocks: u64,
    /// The time of a restore: the median, in microseconds.
    pub restore_us: f64,
}

/// Measures disks of [`RESTORE_MIB`]. Returns an empty list in process, where a restore is an
/// assignment.
///
/// # Errors
/// There is no room for a disk, or a disk cannot be written.
pub fn bench_restore(backend: &dyn Backend) -> Result<Vec<RestoreCost>, RunError> {
    let sizes = RESTORE_MIB.iter().filter_map(|mib| measure(backend, *mib).transpose());
    sizes.collect::<Result<_, StepError>>().map_err(|fault| RunError::from(fault.of("restoring")))
}

/// Measures disks of one size. Returns `None` if the disks are not the kernel's.
fn measure(backend: &dyn Backend, mib: u64) -> Result<Option<RestoreCost>, StepError> {
    let blocks = mib * SECTORS_PER_MIB / SECTORS_PER_BLOCK;
    let at: Vec<u64> = (0..BLOCKS).map(|index| blocks / BLOCKS * index).collect();
    let mut disk = Disk::new();
    for block in &at {
        disk.write(block * SECTORS_PER_BLOCK, &[1; BLOCK_BYTES]);
    }
    let image = Image::from_iter([(0, disk)]);
    let restore = || {
        let devices =
            backend.disks(HostId::default(), Side::Crash, image.clone(), Recording::Off, 0);
        let attach =
            |disks: &KernelDisks| disks.attach(0, mib * SECTORS_PER_MIB, DiskModel::default());
        let node = devices.of_type::<KernelDisks>().map(attach).transpose()?;
        Ok::<_, StepError>((devices, node))
    };
    let (_, Some(node)) = restore()? else { return Ok(None) };
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..TIMES {
        write(&node, &at)
            .map_err(|error| StepError::new(format!("{}: {error}", node.display())))?;
        let started = Instant::now();
        let restored = restore()?;
        times.push(started.elapsed());
        drop(restored);
    }
    let restore_us = median_us(&mut times).expect("there are some");
    Ok(Some(RestoreCost { mib, blocks: BLOCKS, restore_us }))
}

/// Writes blocks by requests. Closes the node before it returns.
fn write(node: &Path, at: &[u64]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(node)?;
    at.iter()
        .try_for_each(|block| file.write_all_at(&[2; BLOCK_BYTES], block * BLOCK_BYTES as u64))?;
    file.sync_all()
}
