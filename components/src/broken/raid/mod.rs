//! Components that combine several disks into one, which survives the loss of a disk.
//!
//! | array | holds | works without |
//! | --- | --- | --- |
//! | [`mirror`] | everything once on each disk | all disks but one |
//! | [`parity`] | everything once, and parity to compute one disk's part from the others | one disk
//! |
//!
//! A crash can divide a write, so that one disk has it and another does not. Therefore a
//! [bitmap](intent) marks the rows of which that may be true, and recovery makes the disks agree
//! there. Alternatively a [journal] holds the write, and recovery makes it again.
//!
//! The first block of each disk has the bitmap, and of a mirror the record of its
//! [members]. The next ones have the journal, if there is one. A
//! *row* of an array is one block after them on each of its disks. The arrays are correct by
//! default. `docs/results/seeded-bugs.md` lists the bugs that options select.

mod bug;
mod intent;
mod journal;
mod members;
pub mod mirror;
pub mod parity;

use std::ops::Range;
use std::rc::Rc;

use explode_ramdisk::{RamDisk, RamDiskState, SECTOR_BYTES, SECTORS_PER_BLOCK};
use explode_runtime::base::StepError;
use explode_runtime::stack::{Below, Component, Facts, Recovery, Surface};
use nix::errno::Errno;

use bug::RaidBug;
use intent::Intent;

/// An array: a device with a size and a resync.
trait Array: RamDiskState {
    /// Returns the size in sectors.
    fn sectors(&self) -> u64;
    /// Makes the disks agree wherever the bitmap says that they may differ.
    fn resync(&self) -> Recovery;
}

/// An array as a component.
struct ArrayComponent<A> {
    /// The least number of disks.
    least: usize,
    /// The number of blocks of each disk before row 0.
    head: u64,
    /// The number of disks that the array can do without.
    can_lose: u32,
    /// Opens the array on some disks.
    open: Box<dyn Fn(Vec<RamDisk>) -> A>,
    array: Option<Rc<A>>,
}

impl<A: Array> ArrayComponent<A> {
    fn disks(&self, below: &Below<'_>) -> Result<Vec<RamDisk>, StepError> {
        let disks: Vec<RamDisk> =
            (0..below.children.len()).map(|index| below.disk(index)).collect::<Result<_, _>>()?;
        if disks.len() < self.least {
            let (least, has) = (self.least, disks.len());
            let hint = "a stack file or a target names them as its children";
            return Err(StepError::new(format!(
                "needs {least} disks below it, and has {has}; {hint}"
            )));
        }
        if blocks_of(&disks) <= self.head {
            let least = (self.head + 1) * SECTORS_PER_BLOCK;
            return Err(StepError::new(format!("needs disks of {least} sectors at least")));
        }
        Ok(disks)
    }

    fn open(&self, below: &Below<'_>) -> Result<A, StepError> {
        Ok((self.open)(self.disks(below)?))
    }
}

impl<A: Array + 'static> Component for ArrayComponent<A> {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        Intent::format(&self.disks(below)?);
        self.open(below)?.resync();
        Ok(())
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.array = Some(Rc::new(self.open(below)?));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        if let Some(array) = self.array.take() {
            array.flush();
        }
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        Ok(self.open(below)?.resync())
    }

    fn facts(&self) -> Facts {
        Facts::default().can_lose(self.can_lose)
    }

    fn surface(&self) -> Surface {
        self.array.clone().map_or(Surface::Child, |array| {
            let sectors = array.sectors();
            Surface::Disk(RamDisk::made_of(array, sectors))
        })
    }
}

/// Sectors within one block of an array.
struct Part {
    block: u64,
    /// The first sector, counted from the block's beginning.
    first: u64,
    /// The range of the part within the bytes that are read or written.
    bytes: Range<usize>,
}

/// Splits `bytes` bytes from `sector` on at the borders of blocks.
fn parts(sector: u64, bytes: usize) -> impl Iterator<Item = Part> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = sector + (done / SECTOR_BYTES) as u64;
        let (block, first) = (at / SECTORS_PER_BLOCK, at % SECTORS_PER_BLOCK);
        let len = ((SECTORS_PER_BLOCK - first) as usize * SECTOR_BYTES).min(bytes - done);
        let part = Part { block, first, bytes: done..done + len };
        done += len;
        (len > 0).then_some(part)
    })
}

/// Reads with `read` as a whole or, if that fails, sector by sector, because each sector may be
/// readable on another disk.
fn each_as_it_can(
    sector: u64,
    buf: &mut [u8],
    read: impl Fn(u64, &mut [u8]) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let whole = read(sector, buf);
    whole.or_else(|_| {
        (sector..).zip(buf.chunks_mut(SECTOR_BYTES)).try_for_each(|(at, buf)| read(at, buf))
    })
}

/// Returns the number of blocks of the smallest disk.
fn blocks_of(disks: &[RamDisk]) -> u64 {
    disks.iter().map(|disk| disk.sectors() / SECTORS_PER_BLOCK).min().unwrap_or(0)
}
