//! Two checkers side by side: the one that is replaced and the one that replaces it. The new one
//! drives; the old one is given the results of the same calls, and must make no others. Each crash
//! disk is judged by both.

#![allow(clippy::print_stdout, reason = "the tests say how many disks they have compared")]

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use explode_ramdisk::files::{Fd, Files, Kind, OpenFlags, Result as FilesResult, Stat};
use explode_runtime::base::{Fault, Mode, Options, UsageError};
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported};
use explode_runtime::choose::{Label, Point};
use explode_runtime::crash::Epoch;
use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::Message;
use explode_runtime::run::{Confirmation, Local, explore};
use explode_runtime::stack::Stack;
use explode_runtime::verdict::Failure;

/// A checker whose steps can be taken without its mutate.
pub trait Side: Checker + Clone + 'static {
    /// Are there crashes while a step is taken?
    const AROUND: bool;
    /// The labels of the steps.
    fn steps(&mut self, files: &dyn Files) -> Vec<String>;
    /// Reads a tree, where reading may change it: both judge what was read once.
    fn read(&self, _files: &dyn Files) -> Option<FilesResult<Tree>> {
        None
    }
    /// Judges such a tree.
    fn verdict_of(&self, _read: FilesResult<Tree>, _epoch: Epoch) -> Result<(), Failure> {
        unreachable!("it reads no tree")
    }
    /// Takes one; returns true if a crash may come then.
    fn take_step(&mut self, files: &dyn Files, number: usize) -> Result<bool, Failure>;
}

type Tree = BTreeMap<String, Option<Vec<u8>>>;

/// What was compared.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub steps: u64,
    pub disks: u64,
    /// By verdict and promise, or what was broken.
    pub wrong: BTreeMap<String, u64>,
    /// Check keys of one, and of the other.
    keys: [BTreeMap<Vec<u8>, Vec<u8>>; 2],
}

type Made = RefCell<VecDeque<(String, Box<dyn Any>)>>;

struct Recording<'a>(Rc<dyn Files>, &'a Made);
struct Playback<'a>(&'a Made);

macro_rules! recorded {
    ($($call:ident($($name:ident: $type:ty),*) -> $gives:ty;)*) => {
        impl Files for Recording<'_> {
            $(fn $call(&self, $($name: $type),*) -> FilesResult<$gives> {
                let made = format!("{}{:?}", stringify!($call), ($(&$name,)*));
                let result = self.0.$call($($name),*);
                self.1.borrow_mut().push_back((made, Box::new(result.clone())));
                result
            })*
        }

        impl Files for Playback<'_> {
            $(fn $call(&self, $($name: $type),*) -> FilesResult<$gives> {
                let made = format!("{}{:?}", stringify!($call), ($(&$name,)*));
                let next = self.0.borrow_mut().pop_front();
                let (other, result) = next.unwrap_or_else(|| panic!("only the old one: {made}"));
                assert_eq!(made, other, "the old one makes another call than the new one");
                *result.downcast::<FilesResult<$gives>>().expect("its result")
            })*
        }
    };
}

recorded! {
    open(path: &str, flags: OpenFlags) -> Fd;
    close(fd: Fd) -> ();
    pread(fd: Fd, offset: u64, buf: &mut [u8]) -> usize;
    pwrite(fd: Fd, offset: u64, data: &[u8]) -> ();
    ftruncate(fd: Fd, size: u64) -> ();
    fstat(fd: Fd) -> Stat;
    fsync(fd: Fd) -> ();
    fdatasync(fd: Fd) -> ();
    stat(path: &str) -> Stat;
    readdir(path: &str) -> Vec<(String, Kind)>;
    mkdir(path: &str) -> ();
    rmdir(path: &str) -> ();
    link(from: &str, to: &str) -> ();
    unlink(path: &str) -> ();
    rename(from: &str, to: &str) -> ();
    sync_dir(path: &str) -> ();
    sync() -> ();
    sync_machine() -> ();
    read_file(path: &str) -> Vec<u8>;
}

#[derive(Clone)]
struct Both<O, N> {
    old: O,
    new: N,
    tally: Arc<Mutex<Tally>>,
}

/// The verdict in words.
fn told(judged: &Result<(), Failure>) -> Option<String> {
    match judged {
        Ok(()) => None,
        Err(Failure::Violation(violation)) => {
            Some(format!("{:?}/{} {}", violation.verdict, violation.promise, violation.message))
        }
        Err(other) => Some(format!("{other:?}")),
    }
}

impl<O: Side, N: Side> Checker for Both<O, N> {
    fn init(&mut self, stack: &Stack) -> Result<(), Fault> {
        self.old.init(stack)?;
        self.new.init(stack)
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let made = Made::default();
        let (recording, playback) = (Recording(cx.stack().files()?, &made), Playback(&made));
        let names = self.new.steps(&recording);
        assert_eq!(names, self.old.steps(&playback));
        let point = Point::action(names.len() as u32, Label::named("both"));
        let number = cx.choose_at(&Point { names: &names, ..point }) as usize;
        if N::AROUND {
            cx.check_crashes_start(&[]);
        }
        let check = self.new.take_step(&recording, number)?;
        assert_eq!(self.old.take_step(&playback, number)?, check, "{}", names[number]);
        assert!(made.borrow().is_empty(), "only the new one: {:?}", made.borrow()[0].0);
        let keys = [self.old.check_key().unwrap(), self.new.check_key().unwrap()];
        {
            let mut tally = self.tally.lock().unwrap();
            tally.steps += 1;
            for (at, other) in [(0, 1), (1, 0)] {
                let known = tally.keys[at].entry(keys[at].clone());
                let known = known.or_insert_with(|| keys[other].clone());
                assert_eq!(*known, keys[other], "after {}: another partition", names[number]);
            }
        }
        match (N::AROUND, check) {
            (true, _) => cx.check_crashes_end(self, &[]),
            (false, true) => cx.check_crashes_now(self, &[]),
            (false, false) => Ok(()),
        }
    }

    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), Failure> {
        let (old, new) = match self.old.read(stack.files()?.as_ref()) {
            Some(read) => {
                (self.old.verdict_of(read.clone(), epoch), self.new.verdict_of(read, epoch))
            }
            None => (self.old.check(stack, epoch, args), self.new.check(stack, epoch, args)),
        };
        assert_eq!(told(&old), told(&new), "{epoch:?}");
        let demands = |checker: &dyn Checker| {
            let wrong = match &new {
                Err(Failure::Violation(violation)) => violation.clone(),
                _ => return None,
            };
            checker.abilities().demands.map(|demands| demands.demands(epoch, args, &wrong))
        };
        let both = [demands(&self.old), demands(&self.new)];
        assert_eq!(format!("{:?}", both[0]), format!("{:?}", both[1]));
        let mut tally = self.tally.lock().unwrap();
        tally.disks += 1;
        if let Some(told) = told(&new) {
            let word = told.split(' ').next().unwrap_or_default().to_owned();
            *tally.wrong.entry(word).or_default() += 1;
        }
        new
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        self.new.check_key()
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        let (old, new) = (self.old.facts(stack)?, self.new.facts(stack)?);
        assert_eq!(old.about, new.about);
        Ok(new)
    }
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    crate::register(&mut registry);
    registry
}

/// Explores a plan completely with both, no check skipped.
fn compared<O: Side + Send, N: Side + Send>(
    plan: &Plan,
    both: impl Fn(&Options) -> (O, N) + Send + Sync + 'static,
) -> Tally {
    let mut registry = registry();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let options = registry.checker(&plan.checker).unwrap().options.clone();
    let counted = Arc::clone(&tally);
    let build = move |options: &Options| -> Result<Box<dyn Checker>, UsageError> {
        let (old, new) = both(options);
        Ok(Box::new(Both { old, new, tally: Arc::clone(&counted) }))
    };
    registry.checkers.extend([CheckerDef::new("both", "both", build).options(options)]);
    let mut plan = plan.clone();
    plan.checker = "both".to_owned();
    plan.settings.skip = false;
    let folder = tempfile::tempdir().unwrap();
    let mut sink = |message: &Message| {
        if let Message::Broken { message, .. } = message {
            panic!("broken: {message}")
        }
    };
    let out = folder.path().join("run");
    let mut confirm = |_: &Path| Confirmation::Reproduced;
    let mut audience = Local::new(Some(&out), &mut confirm, &mut sink);
    let summary = explore(&registry, &plan, &InProcess, &mut audience).expect("it runs");
    if !summary.complete {
        println!("not complete, {} left out", summary.left_out.0);
    }
    let tally = tally.lock().unwrap().clone();
    println!(
        "{} states, {} crash disks, {} distinct, {} judged twice; {} steps, {} keys; {:?}",
        summary.states.0,
        summary.crash_disks.0,
        summary.distinct.0,
        tally.disks,
        tally.steps,
        tally.keys[0].len(),
        tally.wrong
    );
    assert_eq!(tally.keys[0].len(), tally.keys[1].len());
    tally
}

/// Compares on each target of a checker, within its bounds.
fn on_all_targets<O: Side + Send, N: Side + Send>(
    checker: &str,
    most: u64,
    both: impl Fn(&Options) -> (O, N) + Send + Sync + Clone + 'static,
) -> Tally {
    let registry = registry();
    let mut sum = Tally::default();
    for target in registry.targets.iter().filter(|target| *target.checker == *checker) {
        let mut plan = Plan::of(&registry, target).unwrap();
        if plan.mode != Mode::default() {
            continue;
        }
        plan.settings.depth = plan.settings.depth.min(most.min(99) as u32);
        let tally = compared(&plan, both.clone());
        println!("{} at depth {}: {}", target.name, plan.settings.depth, tally.disks);
        if target.name != "fatfs" {
            assert_eq!(*target.expect == *"clean", tally.wrong.is_empty(), "{}", target.name);
        }
        sum.disks += tally.disks;
        sum.steps += tally.steps;
        for (word, count) in tally.wrong {
            *sum.wrong.entry(word).or_default() += count;
        }
    }
    println!("{checker}: {} disks, {} steps, {:?}", sum.disks, sum.steps, sum.wrong);
    sum
}

/// Its targets are on storage engines of others (`--features engines`). On our own file systems it
/// finds much.
#[test]
fn atomic_old_and_new() {
    let both = |_: &Options| (super::atomic_old::one(), super::atomic::Atomic::new());
    let mut sum = on_all_targets("fs-atomic", u64::MAX, both).disks;
    let registry = registry();
    for target in registry.targets.iter().filter(|target| *target.checker == *"fs-sync") {
        let mut plan = Plan::of(&registry, target).unwrap();
        if plan.mode != Mode::default() {
            continue;
        }
        plan.checker = "fs-atomic".to_owned();
        plan.checker_options = Options::none();
        plan.settings.depth = plan.settings.depth.min(3);
        sum += compared(&plan, both).disks;
    }
    println!("fs-atomic: {sum} disks in all");
}

/// Syncs that lie, that cannot be made, and of which nothing is promised.
fn lying() -> [&'static [(&'static str, &'static str)]; 7] {
    [
        &[("lies", "fsync")],
        &[("lies", "directories")],
        &[("lies", "sync")],
        &[("lies", "none"), ("refuses", "true")],
        &[("lies", "sync"), ("refuses", "true")],
        &[("lies", "sync"), ("excludes", "synced-by-sync")],
        &[("lies", "fsync"), ("excludes", "synced-by-fsync")],
    ]
}

fn on_lying(target: &str, depth: u32, options: &[(&str, &str)]) -> Plan {
    let registry = registry();
    let mut plan = Plan::of(&registry, registry.target(target).unwrap()).unwrap();
    let options = options.iter().fold(Options::none(), |all, (name, value)| match *value {
        "true" => all.with(name, true),
        value => all.with(name, value),
    });
    plan.stack = plan.stack.plug("lying-sync", options);
    plan.settings.depth = depth;
    plan
}

#[test]
fn sync_old_and_new() {
    let depth = std::env::var("SIDE_DEPTH").map_or(u64::MAX, |depth| depth.parse().unwrap());
    let both = |options: &Options| (super::sync::old::one(options), super::sync::one(options));
    let mut sum = 0;
    for options in lying() {
        sum += compared(&on_lying("fs-sync", 3, options), both).disks;
    }
    sum += on_all_targets("fs-sync", depth, both).disks;
    println!("fs-sync: {sum} disks in all");
}
