//! RAM disks of the kernel. `/dev/rdd-control` makes them. They are read and written by mmap, and a
//! restore writes only the changed blocks.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use explode_ekm_abi::user;
use explode_ekm_abi::wire::{
    BLOCKS_CHANGED, BLOCKS_READ, DiskSpec, ENDS_AT_ONCE, ENDS_BY_CHOICE, ENDS_BY_CHOICE_NOT_YET,
    ENDS_LATE, ENDS_NOT_YET, FAULT_GONE, FAULT_UNREADABLE, FaultSpec, RDD_MMAP_SHIFT,
};
use explode_ramdisk::{BLOCK_BYTES, Condition, Damage, Disk, DiskFault, ReadFault, SECTOR_BYTES};
use libc::{EIO, ENOSPC};
use nix::errno::Errno;

use super::disk_model::CompletionTiming;
use super::map::DeviceMapping;

/// The path of the device that makes disks.
pub(crate) const CONTROL: &str = "/dev/rdd-control";

/// Opens the device that makes and removes disks.
pub(crate) fn open_control() -> io::Result<File> {
    let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
    user::hello_rdd(control.as_fd()).map_err(io::Error::other)?;
    Ok(control)
}

/// A RAM disk and its known contents.
#[derive(Debug)]
pub(crate) struct RddDisk {
    spec: DiskSpec,
    path: PathBuf,
    map: DeviceMapping,
    /// The contents when the last list of changed blocks was read.
    known: Disk,
    /// The changed blocks in the last list from the driver.
    changed: Vec<u32>,
    /// True if the driver may hold faults.
    faulty: bool,
    /// The time at which writes complete (`ENDS_*`).
    ends: u32,
}

impl RddDisk {
    /// Makes a disk of zeroes.
    pub fn create(control: &File, sectors: u64) -> Result<RddDisk, Errno> {
        let spec = user::create(control.as_fd(), sectors)?;
        let bytes =
            usize::try_from(sectors * explode_ekm_abi::wire::SECTOR).map_err(|_| Errno::EFBIG)?;
        let map = DeviceMapping::new(control, i64::from(spec.disk) << RDD_MMAP_SHIFT, bytes, true)?;
        let path = PathBuf::from(format!("/dev/rdd{}", spec.disk));
        Ok(RddDisk {
            spec,
            path,
            map,
            known: Disk::new(),
            changed: Vec::new(),
            faulty: false,
            ends: ENDS_AT_ONCE,
        })
    }

    /// Removes the disk.
    pub fn remove(self, control: &File) -> Result<(), Errno> {
        drop(self.map);
        user::remove(control.as_fd(), self.spec.disk)
    }

    /// Returns the path of the node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name without a path.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).expect("it was made of a number")
    }

    /// Returns the number, the device numbers and the size.
    pub fn spec(&self) -> &DiskSpec {
        &self.spec
    }

    /// Sets when writes complete.
    pub fn end_writes(&mut self, control: &File, completes: CompletionTiming) -> Result<(), Errno> {
        let ends = match completes {
            CompletionTiming::AtOnce => ENDS_AT_ONCE,
            CompletionTiming::Late => ENDS_LATE,
            CompletionTiming::Choice => ENDS_BY_CHOICE,
        };
        self.set_ends(control, ends)
    }

    /// Holds back all completions of a disk whose writes complete late (`still`), or lets them go
    /// on.
    pub fn hold_still(&mut self, control: &File, still: bool) -> Result<(), Errno> {
        let ends = match (self.ends, still) {
            (ENDS_LATE, true) => ENDS_NOT_YET,
            (ENDS_NOT_YET, false) => ENDS_LATE,
            (ENDS_BY_CHOICE, true) => ENDS_BY_CHOICE_NOT_YET,
            (ENDS_BY_CHOICE_NOT_YET, false) => ENDS_BY_CHOICE,
            (as_it_is, _) => as_it_is,
        };
        self.set_ends(control, ends)
    }

    fn set_ends(&mut self, control: &File, ends: u32) -> Result<(), Errno> {
        if self.ends != ends {
            user::ends(control.as_fd(), self.spec.disk, ends)?;
            self.ends = ends;
        }
        Ok(())
    }

    /// Returns the current contents. The cost depends on the blocks written since the last call.
    pub fn contents(&mut self, control: &File) -> Result<&Disk, Errno> {
        let mut bytes = [0; BLOCK_BYTES];
        self.take_changed(control)?;
        for block in &self.changed {
            self.map.read(*block as usize * BLOCK_BYTES, &mut bytes);
            self.known.write(u64::from(*block) * (BLOCK_BYTES / 512) as u64, &bytes);
        }
        Ok(&self.known)
    }

    /// Clears the write error of an earlier stack. The kernel keeps it with the node and reports it
    /// to the next sync (`file_check_and_advance_wb_err`).
    pub fn forget_errors(&self) -> io::Result<()> {
        // This sync receives the report.
        File::open(&self.path)?.sync_all().or_else(|error| match error.raw_os_error() {
            Some(EIO | ENOSPC) => Ok(()),
            _ => Err(error),
        })
    }

    /// Makes the disk hold `wanted`. The cost depends on the blocks that were written since the
    /// last contents, and on those that differ from them. The disk must not be open, because the
    /// page cache of a block device ends with its last user.
    pub fn restore(&mut self, control: &File, wanted: &Disk) -> Result<(), Errno> {
        self.take_changed(control)?;
        self.changed.sort_unstable();
        let differing = self.known.changed_blocks(wanted);
        let only_differing = |block: &u64| self.changed.binary_search(&(*block as u32)).is_err();
        let blocks = self.changed.iter().copied().map(u64::from);
        for block in blocks.chain(differing.into_iter().filter(only_differing)) {
            self.map.write(block as usize * BLOCK_BYTES, wanted.block(block));
        }
        self.known = wanted.clone();
        if std::mem::take(&mut self.faulty) {
            user::fault(
                control.as_fd(),
                FaultSpec { disk: self.spec.disk, ..FaultSpec::default() },
            )?;
        }
        if wanted.condition() == Condition::Failed {
            return self.fault(control, FAULT_GONE, 0..self.spec.sectors);
        }
        let mut bad = wanted.unreadable();
        bad.try_for_each(|sector| self.fault(control, FAULT_UNREADABLE, sector..sector + 1))
    }

    /// Damages the disk, which may be open. What was read before stays in the reader's cache.
    pub fn damage(&mut self, control: &File, damage: &Damage) -> Result<(), Errno> {
        let sectors = match damage {
            Damage::Disk(DiskFault::Missing) => return Ok(()),
            Damage::Disk(DiskFault::Failed | DiskFault::Stale) => {
                return self.fault(control, FAULT_GONE, 0..self.spec.sectors);
            }
            Damage::Sectors(sectors, _) => sectors.clone(),
        };
        self.contents(control)?;
        self.known.damage(damage);
        if let Damage::Sectors(_, ReadFault::Unreadable) = damage {
            return self.fault(control, FAULT_UNREADABLE, sectors);
        }
        for sector in sectors {
            self.map.write(sector as usize * SECTOR_BYTES, self.known.sector(sector));
        }
        Ok(())
    }

    /// Returns the condition of the disk when it was restored.
    pub fn condition(&self) -> Condition {
        self.known.condition()
    }

    /// Returns true if the disk, or a sector of it, had a fault when it was restored.
    pub fn is_damaged(&self) -> bool {
        self.known.is_damaged()
    }

    fn fault(&mut self, control: &File, kind: u32, sectors: Range<u64>) -> Result<(), Errno> {
        let (disk, sector) = (self.spec.disk, sectors.start);
        let sectors = sectors.end - sector;
        self.faulty = true;
        user::fault(control.as_fd(), FaultSpec { disk, kind, sector, sectors, seed: 0 })
    }

    /// Returns the blocks that were read since the last call, in order of the first read.
    pub fn take_reads(&self, control: &File) -> Result<Vec<u32>, Errno> {
        let mut blocks = Vec::with_capacity(512);
        user::take_blocks(control.as_fd(), self.spec.disk, BLOCKS_READ, &mut blocks)?;
        Ok(blocks)
    }

    fn take_changed(&mut self, control: &File) -> Result<(), Errno> {
        user::take_blocks(control.as_fd(), self.spec.disk, BLOCKS_CHANGED, &mut self.changed)
    }
}
