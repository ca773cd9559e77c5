//! Blocks of a disk (EX-112, for a disk that is made of others): flushed data survives the loss of
//! any one of the others.
//!
//! Every mutate writes a block, writes block 0 with FUA, or flushes. No two writes have the same
//! data. The first mutate also chooses the disk that will fail. On a crash disk each sector must
//! hold one of the versions that it can have, and
//!
//! * two reads of a block agree, whichever disk serves them;
//! * a bad sector loses nothing, and two bad sectors at the same place lose at most the blocks
//!   there;
//! * all blocks hold the same data after the chosen disk is pulled out. If a disk has bad sectors,
//!   each block is first written back, which must repair them.
//!
//! One disk fails per path, because an array need not accept a disk again that was gone. For a disk
//! that is not made of others, for a disk of the kernel, and after a disk has failed by choice
//! (option `faults` of a disk), only the versions are checked.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::{BLOCK_BYTES, SECTOR_BYTES, SECTORS_PER_BLOCK, Storage};
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Chop, Cx, Unsupported, digest,
};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use super::disk::TopDisk;

/// The name in the registry.
pub const NAME: &str = "disk-blocks";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "a disk made of others keeps what was flushed, and goes on without any one of them",
        build,
    )
    .options([OptionDef {
        name: "blocks",
        about: "number of blocks that are written",
        default: "3",
    }])
}

/// A block holds the newest data written before a flush, or something newer.
const DURABLE: &str = "durable";
/// A live disk returns the newest data.
const CURRENT: &str = "current";
/// Two reads of a block agree.
const AGREE: &str = "agree";
/// A sector that one disk cannot read is read from the others.
const READABLE: &str = "readable";
/// The blocks hold the same data after one disk is pulled out.
const REDUNDANT: &str = "redundant";

/// The versions that a block may hold, oldest first. A version is the number of the mutate that
/// wrote it.
type Versions = Vec<u32>;

#[derive(Clone)]
struct Blocks {
    before: Vec<Versions>,
    after: Vec<Versions>,
    /// The number of mutates so far.
    steps: u32,
    /// The device that is pulled out of a crash disk, once it is chosen.
    fails: u32,
}

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    let blocks = match options.int("blocks", 3)? {
        blocks @ 1..=64 => vec![vec![0]; blocks as usize],
        blocks => return Err(UsageError(format!("{blocks} blocks; use 1 to 64"))),
    };
    Ok(Box::new(Blocks { before: blocks.clone(), after: blocks, steps: 0, fails: 0 }))
}

/// Returns the bytes of a block of this version: the version, repeated.
fn contents(version: u32) -> Vec<u8> {
    version.to_le_bytes().repeat(BLOCK_BYTES / 4)
}

/// Returns the version at the start of the bytes.
fn version(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes"))
}

/// The unreadable sectors of the devices below.
struct Bad {
    /// True if any device has an unreadable sector.
    any: bool,
    /// The largest number of blocks that may be lost.
    most_lost: usize,
}

/// Counts the unreadable sectors. If two devices, or the only one, have lost a sector at the same
/// place, the blocks of all devices but one may be lost there. A device that has failed has lost
/// all sectors.
fn bad(storage: &Storage, devices: u32) -> Bad {
    let failed = (0..devices).filter(|dev| !storage.answers(*dev)).count() as u32;
    let mut disks: BTreeMap<u64, u32> = BTreeMap::new();
    (0..devices)
        .flat_map(|dev| storage.unreadable(dev))
        .for_each(|sector| *disks.entry(sector).or_default() += 1);
    let lost = disks
        .iter()
        .filter(|(_, disks)| **disks + failed >= devices.min(2))
        .map(|(sector, _)| sector / SECTORS_PER_BLOCK);
    let places = lost.collect::<BTreeSet<u64>>().len();
    Bad { any: !disks.is_empty(), most_lost: places * devices.saturating_sub(1).max(1) as usize }
}

/// Reads a block twice and returns its bytes if they are one of its versions. `None` if it cannot
/// be read.
fn read_twice(
    disk: &TopDisk,
    block: usize,
    versions: &Versions,
) -> Result<Option<Vec<u8>>, Violation> {
    let Some((first, second)) = disk.read(block).zip(disk.read(block)) else { return Ok(None) };
    if first != second {
        let [first, second] = [first, second].map(|bytes| version(&bytes));
        let message =
            format!("block {block} begins with {first}, and when read again with {second}");
        return Err(Violation::new(Verdict::Corrupt, AGREE, message));
    }
    let is_version = |sector: &[u8]| {
        sector[4..] == sector[..SECTOR_BYTES - 4] && versions.contains(&version(sector))
    };
    match first.chunks(SECTOR_BYTES).find(|sector| !is_version(sector)) {
        None => Ok(Some(first)),
        Some(sector) => {
            let found = version(sector);
            let message = format!("block {block} holds {found}, and may hold {versions:?}");
            Err(Violation::new(Verdict::Lost, DURABLE, message))
        }
    }
}

/// Reads all blocks twice.
fn read_all(
    disk: &TopDisk,
    most_lost: usize,
    versions: &[Versions],
) -> Result<Vec<Vec<u8>>, CheckError> {
    let read = |(block, versions)| read_twice(disk, block, versions);
    let found: Vec<Option<Vec<u8>>> =
        versions.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let lost: Vec<usize> = (0..found.len()).filter(|block| found[*block].is_none()).collect();
    match lost.first() {
        None => Ok(found.into_iter().flatten().collect()),
        Some(_) if lost.len() <= most_lost => {
            Err(CheckError::broken(format!("blocks {lost:?} are lost")))
        }
        Some(block) => {
            let message = format!("block {block} cannot be read");
            Err(Violation::new(Verdict::Lost, READABLE, message).into())
        }
    }
}

impl Checker for Blocks {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        let sectors = TopDisk::of(stack)?.sectors()?;
        let blocks = self.after.len() as u64;
        if sectors < blocks * SECTORS_PER_BLOCK {
            return Err(StepError::new(format!(
                "{blocks} blocks do not fit; the disk has {sectors} sectors"
            )));
        }
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = TopDisk::of(cx.stack())?;
        let blocks = self.after.len();
        // The disks of a kernel fail by their own option `faults`.
        if self.steps == 0 && matches!(disk, TopDisk::Simulated(_)) {
            self.fails =
                cx.choose_named("disk-blocks device", cx.stack().device_count() as usize) as u32;
        }
        let step = cx.choose_named(NAME, blocks + 2);
        self.steps += 1;
        self.before = self.after.clone();
        cx.check_crashes_start(&[]);
        match step.checked_sub(blocks) {
            None => {
                self.after[step].push(self.steps);
                disk.write(step, &contents(self.steps), false)?;
            }
            Some(0) => {
                self.after
                    .iter_mut()
                    .for_each(|versions| drop(versions.drain(..versions.len() - 1)));
                disk.flush()?;
            }
            Some(_) => {
                self.after[0] = vec![self.steps];
                disk.write(0, &contents(self.steps), true)?;
            }
        }
        for (block, versions) in self.after.iter().enumerate() {
            let newest = versions.last().copied().unwrap_or_default();
            if disk.read(block).is_some_and(|found| found != contents(newest)) {
                let message = format!(
                    "block {block} was written by mutate {newest}, and holds something else"
                );
                return Err(Violation::new(Verdict::Corrupt, CURRENT, message).into());
            }
        }
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let disk = TopDisk::of(stack)?;
        let either =
            |(before, after): (&Versions, &Versions)| [before.clone(), after.clone()].concat();
        let versions = match epoch {
            Epoch::Begin => self.before.clone(),
            Epoch::InBetween => self.before.iter().zip(&self.after).map(either).collect(),
            Epoch::Now | Epoch::End | Epoch::Soft => self.after.clone(),
        };
        let devices = stack.device_count();
        let TopDisk::Simulated(_) = disk else {
            let damaged = (0..devices).filter(|dev| stack.devices().is_damaged(*dev)).count();
            // The places of two faults are unknown, and nothing is promised if they are the same.
            let most_lost = if damaged > 1 { usize::MAX } else { 0 };
            return read_all(&disk, most_lost, &versions).map(drop);
        };
        let storage = stack.devices().storage()?;
        let bad = bad(storage, devices);
        let found = read_all(&disk, bad.most_lost, &versions)?;
        // An array that has lost a disk may not lose another.
        if devices < 2 || storage.has_lost_disk() {
            return Ok(());
        }
        if bad.any {
            for (block, bytes) in found.iter().enumerate() {
                disk.write(block, bytes, false)?;
            }
        }
        storage.pull_out(self.fails);
        for (block, with) in found.iter().enumerate() {
            let without = disk.read(block);
            if without.as_ref() != Some(with) {
                let begins = |bytes: Vec<u8>| format!("begins with {}", version(&bytes));
                let without = without.map_or("cannot be read".to_owned(), begins);
                let (with, dev) = (version(with), self.fails);
                let message =
                    format!("block {block} begins with {with}; without disk {dev} it {without}");
                return Err(Violation::new(Verdict::Lost, REDUNDANT, message).into());
            }
        }
        Ok(())
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest((&self.before, &self.after, self.fails)))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        TopDisk::of(stack)?;
        Ok(CheckerFacts::default())
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().chop(self)
    }
}

impl Chop for Blocks {
    fn chop(&self, _stack: &Stack) -> Result<Box<dyn Checker>, StepError> {
        let mut next = self.clone();
        next.after.iter_mut().for_each(|versions| drop(versions.drain(..versions.len() - 1)));
        Ok(Box::new(next))
    }
}
