//! A system of four blocks, and one that nobody reads, that goes wrong here and there, as a hash says: lost and corrupt, by design, broken, seen by a mutate
//! itself; its recovery writes, so that crashes during recovery have disks of their own.

use explode_ramdisk::{Flags, RamDisk};
use explode_runtime::base::{Bounds, Fault, Mode, OptionDef, Options};
use explode_runtime::check::{Checker, CheckerDef, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Recovery, Stack, StackSpec, Surface};
use explode_runtime::verdict::{Failure, Profile, Promise, Verdict, Violation};
use xxhash_rust::xxh3::xxh3_64;

const BLOCKS: u64 = 4;
/// A block that nobody reads: disks that differ there only are equivalent.
const SCRATCH: u64 = BLOCKS;

const OPTIONS: &[OptionDef] = &[
    OptionDef { name: "seed", about: "what goes wrong", default: "0" },
    OptionDef { name: "merge", about: "do checks and states of different ways merge?", default: "false" },
];

/// A number that depends on the contents of the disk.
fn dice(seed: u64, disk: &RamDisk, what: &str) -> u64 {
    let mut bytes = what.as_bytes().to_vec();
    bytes.extend(seed.to_le_bytes());
    bytes.extend(contents(disk));
    xxh3_64(&bytes)
}

/// The first byte of each block.
fn contents(disk: &RamDisk) -> Vec<u8> {
    let mut sector = [0; 512];
    let byte = |block: u64| {
        disk.read(block * 8, &mut sector);
        sector[0]
    };
    (0..BLOCKS).map(byte).collect()
}

fn write(disk: &RamDisk, block: u64, byte: u64) {
    disk.write(block % BLOCKS * 8, &[byte as u8; 512], Flags::NONE);
}

fn scratch(disk: &RamDisk, byte: u64) {
    disk.write(SCRATCH * 8, &[byte as u8; 512], Flags::NONE);
}

struct Healer {
    seed: u64,
    disk: Option<RamDisk>,
}

impl Component for Healer {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        self.disk =
            Some(RamDisk::new(below.devices.storage()?.clone(), below.first_device, (SCRATCH + 1) * 8));
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, Fault> {
        let disk = RamDisk::new(below.devices.storage()?.clone(), below.first_device, (SCRATCH + 1) * 8);
        let roll = dice(self.seed, &disk, "recover");
        if !roll.is_multiple_of(3) {
            return Ok(Recovery::Clean);
        }
        write(&disk, roll >> 8, 1 + (roll >> 16) % 3);
        if roll.is_multiple_of(2) {
            disk.flush();
        }
        write(&disk, roll >> 24, 1 + (roll >> 32) % 3);
        Ok(Recovery::Repaired)
    }

    fn surface(&self) -> Surface {
        self.disk.clone().map_or(Surface::Child, Surface::Disk)
    }

    fn facts(&self) -> Facts {
        let promise = Promise { name: "excluded", kept: false, quote: "may be lost", source: "a test" };
        let profile = Profile { system: "healer".to_owned(), promises: vec![promise] };
        Facts::default().devices(1).promises(profile)
    }
}

#[derive(Clone)]
struct Judge {
    seed: u64,
    merge: bool,
    steps: u64,
    live: Vec<u8>,
}

impl Checker for Judge {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let disk = cx.stack().disk()?;
        let block = cx.choose(3) as u64;
        self.steps += 1;
        cx.check_crashes_start(&[]);
        write(&disk, block, 1 + self.steps % 3);
        write(&disk, block + 1, 2);
        scratch(&disk, self.steps);
        cx.check_crashes_end(self, &[])?;
        if cx.choose(2) == 1 {
            disk.flush();
        }
        write(&disk, block + 2, 3);
        cx.check_crashes_now(self, &[])?;
        self.live = contents(&disk);
        if dice(self.seed, &disk, "live").is_multiple_of(19) {
            return Err(Violation::new(Verdict::CheckFailed, "live", format!("{:?}", self.live)).into());
        }
        Ok(())
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let disk = stack.disk()?;
        let found = format!("{:?} {epoch}", contents(&disk));
        let violation = |verdict, promise| Err(Violation::new(verdict, promise, found.clone()).into());
        match dice(self.seed, &disk, epoch.as_str()) % 32 {
            0 => violation(Verdict::Lost, "excluded"),
            1 => violation(Verdict::Lost, "first"),
            2 => violation(Verdict::Corrupt, "second"),
            3 => Err(Failure::broken(format!("broken at {epoch}"))),
            _ => Ok(()),
        }
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn get_sig(&self) -> Option<Vec<u8>> {
        self.merge.then(|| [&self.live[..], &[(self.steps % 3) as u8]].concat())
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        self.merge.then(Vec::new)
    }
}

/// A registry with the world in it.
pub fn registry() -> Registry {
    let component = ComponentDef::new("healer", "a disk for tests", |options| {
        Ok(Box::new(Healer { seed: options.int("seed", 0)?, disk: None }))
    })
    .modes([Mode::Mem])
    .options(OPTIONS);
    let checker = CheckerDef::new("judge", "a checker for tests", |options| {
        let (seed, merge) = (options.int("seed", 0)?, options.bool("merge", false)?);
        Ok(Box::new(Judge { seed, merge, steps: 0, live: Vec::new() }))
    })
    .options(OPTIONS);
    Registry { components: [component].into(), checkers: [checker].into(), ..Registry::default() }
}

/// The plan of a world.
pub fn plan(registry: &Registry, seed: u64, merge: bool) -> Plan {
    let options = Options::none().with("seed", seed).with("merge", merge);
    let target = Target {
        name: "world".into(),
        about: "a target for tests".into(),
        stack: StackSpec::default().plug("healer", options.clone()),
        checker: "judge".into(),
        checker_options: options,
        bounds: Bounds { depth: 3, limit: 10_000, samples: 2_000, crash_depth: 1 },
        seeded: false,
        expect: "clean".into(),
    };
    Plan::of(registry, &target).expect("its component is there")
}
