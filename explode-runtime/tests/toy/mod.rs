//! Systems made from a random number. Their reads, writes and verdicts are decided by what they
//! have read so far and by nothing else, unless an option makes them remember something.

use std::cell::Cell;

use explode_ramdisk::{Flags, RamDisk, SECTOR_BYTES};
use explode_runtime::base::{Mode, OptionDef, Options, StepError, TargetBounds, UsageError};
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported};
use explode_runtime::crash::Epoch;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Recovery, Stack, StackSpec};
use explode_runtime::verdict::{CheckError, Profile, Promise, Verdict, Violation};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::common::disk;

const OPTIONS: &[OptionDef] = &[
    OptionDef { name: "seed", about: "which one", default: "0" },
    OptionDef { name: "remembers", about: "nothing, check, recovery", default: "nothing" },
    OptionDef {
        name: "admits",
        about: "who says that nothing is to be skipped",
        default: "nobody",
    },
];

fn toy() -> ComponentDef {
    ComponentDef::new("toy", "a system made of a random number", |options| {
        Ok(Box::new(Toy(Nature::of(options)?)))
    })
    .modes([Mode::Mem])
    .on("disk")
    .options(OPTIONS)
}

fn checker() -> CheckerDef {
    CheckerDef::new("test", "its checker", |options| {
        Ok(Box::new(Toss { nature: Nature::of(options)?, mutates: 0 }))
    })
    .options(OPTIONS)
}

/// Returns the options of the toy with this seed.
pub fn options(seed: u64) -> Options {
    Options::none().with("seed", seed)
}

pub fn registry() -> Registry {
    Registry {
        components: [disk(), toy()].into(),
        checkers: [checker()].into(),
        ..Registry::default()
    }
}

/// Returns a plan of depth two, and of depth one for a toy that remembers, because a replay of its
/// path does not repeat what it remembers.
pub fn plan(options: &Options) -> Plan {
    CALLS.set(0);
    let target = Target {
        name: "test".into(),
        about: "a target for tests".into(),
        stack: StackSpec::default().plug("disk", Options::none()).plug("toy", options.clone()),
        checker: "test".into(),
        checker_options: options.clone(),
        bounds: TargetBounds { depth: 2, limit: 600, samples: 300, crash_depth: 1 },
        seeded: false,
        expect: "clean".into(),
    };
    let mut plan = Plan::of(&registry(), &target).expect("its components are there");
    plan.settings.depth = if options.contains("remembers") { 1 } else { 2 };
    plan
}

thread_local! {
    /// The number of calls so far. It is outside of all disks.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Returns true for each third call.
fn each_third() -> bool {
    CALLS.replace(CALLS.get() + 1) % 3 == 2
}

#[derive(Clone, Copy, PartialEq)]
enum Memory {
    Nothing,
    Check,
    Recovery,
}

#[derive(Clone, Copy)]
struct Nature {
    seed: u64,
    memory: Memory,
    component_skips: bool,
    checker_skips: bool,
}

impl Nature {
    fn of(options: &Options) -> Result<Nature, UsageError> {
        let words = [
            ("nothing", Memory::Nothing),
            ("check", Memory::Check),
            ("recovery", Memory::Recovery),
        ];
        let admits =
            options.one_of("admits", &[("nobody", 0), ("component", 1), ("checker", 2)])?;
        Ok(Nature {
            seed: options.int("seed", 0)?,
            memory: options.one_of("remembers", &words)?,
            component_skips: admits != 1,
            checker_skips: admits != 2,
        })
    }

    fn number(self, salt: u64) -> u64 {
        mix(self.seed, salt)
    }

    /// Reads block after block. The contents of each decide the next one, and the writes. Returns
    /// the last number.
    fn wander(self, disk: &RamDisk, salt: u64, writes: bool) -> u64 {
        let mut at = self.number(salt);
        for _ in 0..2 + self.number(salt + 1) % 4 {
            let (block, sector) = (at % 8, at / 8 % 8);
            let mut bytes = vec![0; SECTOR_BYTES << (at / 64 % 3)];
            disk.read((block * 8 + sector).min(60), &mut bytes);
            at = bytes.chunks(SECTOR_BYTES).fold(at, |at, sector| mix(at, u64::from(sector[0])));
            if writes && at.is_multiple_of(3) {
                let flags = if at.is_multiple_of(2) { Flags::FUA } else { Flags::NONE };
                disk.write(
                    at / 7 % 60,
                    &vec![(at / 512 % 4) as u8; SECTOR_BYTES << (at / 1024 % 3)],
                    flags,
                );
            }
        }
        at
    }
}

fn mix(one: u64, other: u64) -> u64 {
    xxh3_64_with_seed(&other.to_le_bytes(), one)
}

struct Toy(Nature);

impl Component for Toy {
    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        let disk = below.disk(0)?;
        if self.0.memory != Memory::Nothing {
            let byte = 1 + u8::from(self.0.memory == Memory::Recovery && each_third());
            disk.write(63, &[byte; SECTOR_BYTES], Flags::NONE);
            return Ok(Recovery::Clean);
        }
        let at = self.0.wander(&disk, 10, true);
        match at % 12 {
            0 => Err(StepError::new("it gives up")),
            1..5 => Ok(Recovery::Repaired),
            _ => Ok(Recovery::Clean),
        }
    }

    fn facts(&self) -> Facts {
        let tails =
            Promise { name: "tails", kept: false, quote: "tails may be lost", source: "here" };
        let profile = Profile { system: "toy".to_owned(), promises: vec![tails] };
        Facts::default().promises(profile).reads_only_its_disks(self.0.component_skips)
    }
}

struct Toss {
    nature: Nature,
    mutates: u64,
}

impl Checker for Toss {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = cx.stack().disk()?;
        self.mutates += 1;
        let action = if self.nature.memory == Memory::Nothing { cx.choose(2) as u64 } else { 0 };
        let salt = 1000 * self.mutates + 100 * action;
        let interval =
            self.nature.memory == Memory::Nothing && self.nature.number(2).is_multiple_of(2);
        if interval {
            cx.check_crashes_start(&["before".to_owned()]);
        }
        for write in 0..9 {
            let number = self.nature.number(salt + write);
            let sectors = [1, 2, 8][(number % 3) as usize];
            let sector =
                if self.nature.memory == Memory::Nothing { number / 3 % 56 } else { write * 7 };
            let bytes = vec![(number / 512 % 3 + 1) as u8; SECTOR_BYTES * sectors.min(7)];
            disk.write(sector, &bytes, Flags::NONE);
            if interval && number.is_multiple_of(7) {
                disk.flush();
            }
        }
        match interval {
            true => cx.check_crashes_end(self, &["after".to_owned()]),
            false => cx.check_crashes_now(self, &[]),
        }
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let disk = stack.disk()?;
        if self.nature.memory != Memory::Nothing {
            // Skipping sees only this read.
            disk.read(0, &mut [0; SECTOR_BYTES]);
            let forgets = self.nature.memory == Memory::Check && each_third();
            let lost = Violation::new(Verdict::Lost, "memory", "each third one");
            return if forgets && self.nature.checker_skips { Err(lost.into()) } else { Ok(()) };
        }
        match self.nature.wander(&disk, 20, false) % 12 {
            0 => Err(Violation::new(Verdict::Corrupt, "heads", "heads").into()),
            1 => Err(Violation::new(Verdict::Lost, "tails", "tails").into()),
            2 => Err(CheckError::broken("it stands on its edge")),
            _ => Ok(()),
        }
    }

    /// Half of the toys report what their check depends on. Here that is nothing besides the disk.
    fn check_key(&self) -> Option<Vec<u8>> {
        self.nature.number(3).is_multiple_of(2).then(Vec::new)
    }

    fn facts(&self, _stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        Ok(CheckerFacts::default().reads_only_its_disks(self.nature.checker_skips))
    }
}
