//! Findings that are made to order: named calls on a disk that ignores flushes. Their scripts
//! contain each command that a call can become. The running file system must then have the result
//! of the calls.
//!
//! Simulated files determine the answers of a way, because the checker makes the same calls there.
//! The crash disk is not known beforehand. It is found when the trace is run again, and equals the
//! new file system, because nothing was ever flushed. One trace also crashes during the recovery:
//! its first crash has kept the journal and is correct.

use explode_runtime::base::{Mode, Options};
use explode_runtime::check::CrashRequest;
use explode_runtime::choose::{Choice, ChoicePoint};
use explode_runtime::crash::Epoch;
use explode_runtime::devices::InProcess;
use explode_runtime::explore::{ReachedState, Unit};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::stack::{Stack, StackSpec};
use explode_runtime::trace::{CrashDiskRecord, Trace};
use explode_runtime::unit::{Runner, UnitHooks, UnitProgress};
use explode_runtime::verdict::{CheckError, Verdict};

use crate::common::steps;

/// A way of calls, and the output of their script.
pub struct Ordered {
    pub name: &'static str,
    /// The target on the file system.
    on: &'static str,
    /// The option that is set.
    set: &'static str,
    /// The way to make each call durable, and the calls.
    way: &'static str,
    calls: &'static str,
    steps: &'static [&'static str],
    /// The sectors whose first version the first crash has kept, if a second crash interrupts the
    /// recovery. Empty without a second one.
    keeps: &'static [u64],
    /// The beginnings of the lines by which the script reports the loss.
    pub lost: &'static [&'static str],
}

/// All ways.
pub const ORDERED: [Ordered; 6] = [
    Ordered {
        name: "many-ext4",
        on: "fs-sync-ext4",
        set: "strict",
        way: "sync",
        calls: "all,symlink,chmod,xattr,noreplace,fallocate,mmap",
        steps: &[
            "creat /a",
            "fallocate /a allocate 0 4096",
            "fallocate /a keep-size 16384 4096",
            "pwrite /a 16384",
            "fallocate /a collapse-range 0 4096",
            "fallocate /a insert-range 0 4096",
            "pwrite /a 0",
            "fallocate /a zero-range 0 4096",
            "mmap, store, msync /a",
            "fallocate /a punch-hole 0 4096",
            "mmap, store, msync /a",
            "chmod /a 600",
            "setxattr /a user.a (300 bytes)",
            "setxattr /a user.a (5 bytes)",
            "removexattr /a user.a",
            "mkdir /b",
            "chmod /b 700",
            "setxattr /b user.a (300 bytes)",
            "symlink a /c",
            "symlink (74 bytes) /d",
            "rename-noreplace /a /e",
            "rename /e /b/a",
            "link /b/a /a",
        ],
        keeps: &[],
        lost: &[
            "/a is gone",
            "/a has the mode none",
            "/a does not say which extended attributes it has",
            "/b is no directory, or is gone",
            "/b has the mode none",
            "/b does not say which extended attributes it has",
            "/b/a is gone",
            "/b/a has the mode none",
            "/b/a does not say which extended attributes it has",
            "/c is no symbolic link, or is gone",
            "/d is no symbolic link, or is gone",
        ],
    },
    Ordered {
        name: "many-ext3",
        on: "fs-sync-ext3",
        set: "",
        way: "fdatasync",
        calls: "all",
        steps: &["creat /a", "pwrite /a 16384", "pwrite /a 0", "ftruncate /a 1000", "rename /a /b"],
        keeps: &[],
        lost: &["/b is gone"],
    },
    Ordered {
        name: "many-o-sync",
        on: "fs-sync-ext4",
        set: "",
        way: "o-sync",
        calls: "all",
        steps: &["creat /a", "pwrite /a 0", "mkdir /b", "rename /a /b/a", "pwrite /b/a 16384"],
        keeps: &[],
        lost: &["/b/a is gone"],
    },
    Ordered {
        name: "many-o-dsync",
        on: "fs-sync-ext4",
        set: "",
        way: "o-dsync",
        calls: "all",
        steps: &["creat /a", "pwrite /a 16384", "ftruncate /a 1000", "pwrite /a 0"],
        keeps: &[],
        lost: &["/a is gone"],
    },
    Ordered {
        name: "clone-xfs",
        on: "fs-sync-xfs",
        set: "",
        way: "fsync",
        calls: "all,reflink",
        steps: &["creat /a", "pwrite /a 0", "creat /b", "clone /a /b"],
        keeps: &[],
        lost: &["/a is gone", "/b is gone"],
    },
    Ordered {
        name: "recovery-ext3",
        on: "fs-sync-ext3",
        set: "",
        way: "fsync",
        calls: "all",
        steps: &["creat /a"],
        // The superblock, which marks that recovery is needed, and the journal.
        keeps: &[0, 2128, 2136, 2144, 2152, 2160, 2168, 2176, 2184],
        lost: &["/a is gone"],
    },
];

impl Ordered {
    /// Returns the word of the broken promise when nothing was kept. For a name, it depends on the
    /// sync that promised it.
    fn word(&self) -> &str {
        if self.way == "sync" { "synced-by-sync" } else { "synced-directory" }
    }

    /// Returns a trace of the way, without its crash disk.
    pub fn trace(&self, registry: &Registry) -> String {
        let plan = |of: &str, stack: Option<StackSpec>| {
            let target = registry.target(of).expect("the target is there");
            let stack = stack.unwrap_or_else(|| target.stack.clone());
            let options = Options::none().with("way", self.way).with("start", "empty");
            let options = options.with("calls", self.calls);
            let checker_options =
                options.with("files", 4_u64).with("dirs", 1_u64).with("far", 16_384_u64);
            let target =
                Target { stack, checker: "fs-ways".into(), checker_options, ..target.clone() };
            let mut plan = Plan::of(registry, &target).expect("so are its components");
            (plan.settings.limit, plan.settings.samples, plan.settings.crash_depth) = (4, 4, 0);
            plan.settings.depth = self.steps.len() as u32;
            plan
        };
        let (choices, interval) = answers(registry, &plan("fs-ways-fsync", None), self.steps);
        let mut stack = registry.target(self.on).expect("the target is there").stack.clone();
        let [disk, system] = &mut stack.0[..] else { panic!("{} is two layers", self.on) };
        disk.options = disk.options.clone().with("flushes", "dropped");
        if !self.set.is_empty() {
            system.options = system.options.clone().with(self.set, true);
        }
        let mut plan = plan(self.on, Some(stack));
        if !self.keeps.is_empty() {
            (plan.settings.limit, plan.settings.samples, plan.settings.crash_depth) =
                (3000, 300, 1);
        }
        let unknown = || "0".repeat(32);
        let disk = |sectors: &[u64]| CrashDiskRecord {
            id: unknown(),
            blocks: sectors.iter().map(|sector| (0, *sector, 1)).collect(),
        };
        let trace = Trace {
            format: 1,
            explode: env!("CARGO_PKG_VERSION").to_owned(),
            versions: [("explode".to_owned(), env!("CARGO_PKG_VERSION").to_owned())].into(),
            target: self.name.to_owned(),
            test: None,
            mode: Mode::Here,
            stack: plan.stack,
            checker: plan.checker,
            checker_options: plan.checker_options,
            checker_defaults: Options::none(),
            options: plan.settings,
            pristine: unknown(),
            choices,
            mutates: self.steps.len() as u32,
            chops: Vec::new(),
            interval,
            epoch: Some(Epoch::Now),
            args: Vec::new(),
            log: unknown(),
            crash_disk: Some(disk(self.keeps)),
            recovery: if self.keeps.is_empty() { Vec::new() } else { vec![disk(&[])] },
            died: None,
            verdict: Verdict::Lost,
            signature: format!("fs-ways/lost/{}", self.word()),
            by_design: false,
            message: String::new(),
            recorded: None,
            tag: None,
        };
        serde_json::to_string(&trace).expect("plain data")
    }
}

/// Returns the answers of these steps, and the index of the last request for crash checks on this
/// path.
fn answers(registry: &Registry, twin: &Plan, steps: &[&str]) -> (Vec<Choice>, u64) {
    let runner = Runner::start(registry, twin, &InProcess).expect("simulated files start");
    let unit = Unit { mutates: steps.len() as u32, ..Unit::default() };
    let mut named = Named { left: steps.iter(), interval: 0 };
    let ended = runner.run(&unit, &mut named);
    assert!(ended.early.is_none() && named.left.next().is_none(), "{:?}", ended.early);
    (ended.choices, named.interval)
}

/// Takes the steps by their names, and checks no disk.
struct Named<'a> {
    left: std::slice::Iter<'a, &'a str>,
    interval: u64,
}

impl UnitHooks for Named<'_> {
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        steps::named(point, self.left.next().expect("a step for each choice"))
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        ask: &CrashRequest<'_>,
        so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        self.interval = so_far.place.interval;
        Ok(pipeline.skip(stack.devices(), ask.when)?)
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        true
    }
}
