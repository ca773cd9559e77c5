//! Blocks of a disk (EX-112, for a disk that is made of others): what was flushed is there, whatever one of the others has lost.
//!
//! Every mutate writes a block, or writes one through the caches, or flushes; no two writes write the same. The first chooses the
//! disk that is going to fail, too. On a crash disk each sector must hold one of the versions that it could have, and
//!
//! * two reads of a block agree, whichever disk they come from;
//! * a block can be read unless two disks have a bad sector at the same place;
//! * when the disk that was chosen is pulled out all blocks hold the same as before. Where a disk has bad sectors, each block is
//!   read and written again before that: then nothing may be left of them.
//!
//! One disk a path, because an array need not take back a disk that was gone.

use std::hash::Hash as _;

use explode_ramdisk::{Flags, RamDisk, Storage};
use explode_runtime::check::{Checker, Cx, Failure, Verdict, Violation};
use explode_runtime::crash::Epoch;
use explode_runtime::recover::{Fault, Stack};
use explode_runtime::run::{CheckerDef, OptionDef, Options, UsageError};
use xxhash_rust::xxh3::Xxh3;

/// As it stands in the registry.
pub const DEF: CheckerDef = CheckerDef {
    name: "disk-blocks",
    about: "a disk made of others keeps what was flushed, and goes on without any one of them",
    options: &[OptionDef { name: "blocks", about: "how many blocks are written", default: "3" }],
    build,
};

/// A block holds what was written last before a flush, or something newer.
const DURABLE: &str = "durable";
/// A live disk gives back what was written last.
const CURRENT: &str = "current";
/// Two reads of a block agree.
const AGREE: &str = "agree";
/// What one disk cannot read, the others have.
const READABLE: &str = "readable";
/// With one disk pulled out the blocks hold the same.
const REDUNDANT: &str = "redundant";

const SECTORS: u64 = 8;
const SECTOR: usize = 512;
const BLOCK: usize = 4096;

/// The versions that a block may hold, oldest first: the number of the mutate that has written it.
type Versions = Vec<u8>;

#[derive(Clone)]
struct Blocks {
    before: Vec<Versions>,
    after: Vec<Versions>,
    /// Mutates so far.
    steps: u8,
    /// The device that is pulled out of a crash disk, once that is chosen.
    fails: u32,
}

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    let blocks = match options.int("blocks", 3)? {
        blocks @ 1..=64 => vec![vec![0]; blocks as usize],
        blocks => return Err(UsageError(format!("{blocks} blocks; use 1 to 64"))),
    };
    Ok(Box::new(Blocks { before: blocks.clone(), after: blocks, steps: 0, fails: 0 }))
}

/// What a block of this version holds.
fn contents(version: u8) -> [u8; BLOCK] {
    [version; BLOCK]
}

fn read(disk: &RamDisk, block: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; BLOCK];
    disk.try_read(block as u64 * SECTORS, &mut bytes).ok().map(|()| bytes)
}

/// The sectors of each device that cannot be read.
fn bad_sectors(storage: &Storage, devices: u32) -> Vec<u64> {
    (0..devices).flat_map(|dev| storage.unreadable(dev)).collect()
}

impl Blocks {
    /// Reads each block twice; what they hold, if each is one of its versions.
    fn read_all(&self, disk: &RamDisk, lost: bool, versions: &[Versions]) -> Result<Vec<Vec<u8>>, Failure> {
        let read_one = |(block, versions): (usize, &Versions)| {
            let [first, second] = [(); 2].map(|()| read(disk, block));
            let Some((first, second)) = first.zip(second) else {
                let message = format!("block {block} cannot be read");
                return Err(match lost {
                    true => Failure::Broken(message),
                    false => Violation::new(Verdict::Lost, READABLE, message).into(),
                });
            };
            if first != second {
                let message =
                    format!("block {block} begins with {}, and when read again with {}", first[0], second[0]);
                return Err(Violation::new(Verdict::Corrupt, AGREE, message).into());
            }
            let is_version = |sector: &[u8]| versions.iter().any(|version| sector == [*version; SECTOR]);
            match first.chunks(SECTOR).find(|sector| !is_version(sector)) {
                None => Ok(first),
                Some(sector) => {
                    let message = format!("block {block} holds {}, and may hold {versions:?}", sector[0]);
                    Err(Violation::new(Verdict::Lost, DURABLE, message).into())
                }
            }
        };
        versions.iter().enumerate().map(read_one).collect()
    }
}

impl Checker for Blocks {
    fn init(&mut self, stack: &Stack) -> Result<(), Fault> {
        let disk = stack.disk()?;
        let blocks = self.after.len() as u64;
        if disk.sectors() < blocks * SECTORS {
            return Err(Fault::new(format!(
                "{blocks} blocks do not fit; the disk has {} sectors",
                disk.sectors()
            )));
        }
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let disk = cx.stack().disk()?;
        let blocks = self.after.len();
        if self.steps == 0 {
            self.fails = cx.choose(cx.stack().device_count() as usize) as u32;
        }
        let step = cx.choose(blocks + 2);
        self.steps += 1;
        self.before = self.after.clone();
        cx.check_crashes_start(&[]);
        match step.checked_sub(blocks) {
            None => {
                self.after[step].push(self.steps);
                disk.write(step as u64 * SECTORS, &contents(self.steps), Flags::NONE);
            }
            Some(0) => {
                self.after.iter_mut().for_each(|versions| drop(versions.drain(..versions.len() - 1)));
                disk.flush();
            }
            Some(_) => {
                self.after[0] = vec![self.steps];
                disk.write(0, &contents(self.steps), Flags::FUA);
            }
        }
        for (block, versions) in self.after.iter().enumerate() {
            let newest = versions.last().copied().unwrap_or_default();
            if read(&disk, block).is_some_and(|found| found != contents(newest)) {
                let message =
                    format!("block {block} was written by mutate {newest}, and holds something else");
                return Err(Violation::new(Verdict::Corrupt, CURRENT, message).into());
            }
        }
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let (disk, storage) = (stack.disk()?, stack.devices().storage()?);
        let either = |(before, after): (&Versions, &Versions)| [before.clone(), after.clone()].concat();
        let versions = match epoch {
            Epoch::Begin => self.before.clone(),
            Epoch::InBetween => self.before.iter().zip(&self.after).map(either).collect(),
            Epoch::Now | Epoch::End | Epoch::Soft => self.after.clone(),
        };
        let mut bad = bad_sectors(storage, stack.device_count());
        let all = bad.len();
        bad.sort_unstable();
        bad.dedup();
        let found = self.read_all(&disk, bad.len() < all, &versions)?;
        if all > 0 {
            for (block, bytes) in found.iter().enumerate() {
                disk.write(block as u64 * SECTORS, bytes, Flags::NONE);
            }
        }
        storage.pull_out(self.fails);
        for (block, with) in found.iter().enumerate() {
            let without = read(&disk, block);
            if without.as_ref() != Some(with) {
                let without =
                    without.map_or("cannot be read".to_owned(), |bytes| format!("begins with {}", bytes[0]));
                let (with, dev) = (with[0], self.fails);
                let message = format!("block {block} begins with {with}; without disk {dev} it {without}");
                return Err(Violation::new(Verdict::Lost, REDUNDANT, message).into());
            }
        }
        Ok(())
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        let mut hasher = Xxh3::new();
        (&self.before, &self.after, self.fails).hash(&mut hasher);
        Some(hasher.digest128().to_le_bytes().to_vec())
    }

    fn chop(&mut self, _stack: &Stack) -> Result<(), Fault> {
        self.after.iter_mut().for_each(|versions| drop(versions.drain(..versions.len() - 1)));
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }
}
