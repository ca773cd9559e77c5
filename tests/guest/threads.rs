//! The kernel's background work between two calls (`docs/model/scheduling.md`): it runs when it is
//! chosen and at no other time. Bugs that depend on it are found with it and only with it. A thread
//! that runs when it must not is detected.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use explode_kernel::{DiskModel, KernelDisks};
use explode_ramdisk::{Event, Image, Payload, Recording};
use explode_runtime::base::{Mode, Options, StepError, TargetBounds};
use explode_runtime::check::{Checker, CheckerDef, CrashRequest, Cx as Steps};
use explode_runtime::choose::{Choice, ChoiceKind, ChoicePoint};
use explode_runtime::crash::Epoch;
use explode_runtime::devices::{Backend, HostId, Side};
use explode_runtime::explore::{ReachedState, State, Unit};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::report::Summary;
use explode_runtime::stack::{Below, Component, ComponentDef, Stack, StackSpec, Surface};
use explode_runtime::unit::{Runner, UnitHooks, UnitProgress, UnitRun, UnitStop};
use explode_runtime::verdict::{CheckError, Verdict};
use libc::{SCHED_FIFO, sched_param, sched_setscheduler};
use nix::unistd::gettid;

use crate::cases::{Cx, keep};
use crate::common::steps;
use crate::directed::{Seen, go_by};
use crate::report::Report;

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    report.case("threads: the flusher writes what is dirty, and promises nothing", |_| {
        flusher(cx.backend)
    });
    report.case("threads: memory is taken back from what is clean, and from nothing else", |_| {
        reclaim(cx.backend)
    });
    report.case("threads: chosen work happens between the two calls", |_| happens(cx));
    report.case(
        "threads: ext4+cut-then-write is found with a commit between two calls, and only so",
        |report| {
            canary(cx, report);
        },
    );
    for (system, expected) in NOT_ACCUSED {
        report.case(
            &format!("threads: {system} with everything on, one step deep: exact counts, clean"),
            |_| {
                let mut plan = with(cx.shallow(&format!("fs-sync-{system}")), "all");
                (plan.settings.limit, plan.settings.samples, plan.settings.crash_depth) =
                    (20, 10, 0);
                let (summary, findings) = cx.explore(&plan);
                let Summary { states, operations, choices, crash_disks, distinct, .. } = &summary;
                let counted = [states, operations, choices, crash_disks, distinct]
                    .map(|count| u64::try_from(&count.0).unwrap());
                assert_eq!(counted, expected);
                assert!(findings.is_empty(), "{findings:?}");
            },
        );
    }
    report.case("threads: another path diverges, and the report says where", |_| diverges(cx));
    report.case("threads: with functions that fail, one sequence", |_| with_failures(cx));
    report.case("threads: a thread that runs when it must not is detected", |_| {
        found_out(cx.backend)
    });
}

/// The expected states, operations, choices, crash disks (sampled per emission) and distinct disks.
const NOT_ACCUSED: [(&str, [u64; 5]); 4] = [
    ("ext4", [151, 150, 604, 8704, 412]),
    ("ext2", [115, 114, 463, 1423, 103]),
    ("vfat", [115, 114, 463, 82, 5]),
    ("minix", [115, 114, 463, 1853, 133]),
];

/// Returns the plan with this background work of the kernel.
fn with(mut plan: Plan, between: &str) -> Plan {
    let system = &mut plan.stack.0[1];
    system.options = system.options.clone().with("between", between);
    plan
}

/// Returns the words for events.
fn kinds(events: &[Event]) -> Vec<&'static str> {
    let kind = |event: &Event| match event {
        Event::Dirty { .. } => "dirty",
        Event::Submit { .. } => "submit",
        Event::Complete { .. } => "complete",
        Event::Flush { .. } => "flush",
        _ => "other",
    };
    events.iter().map(kind).collect()
}

const SECTORS: u64 = 24 * 1024;

fn flusher(backend: &dyn Backend) {
    let devices = backend.disks(HostId::default(), Side::Crash, Image::new(), Recording::On, 0);
    let disks = devices.of_type::<KernelDisks>().expect("they are the kernel's");
    let node = disks.attach(3, SECTORS, DiskModel::default()).expect("there is room");
    let file = OpenOptions::new().read(true).write(true).open(node).expect("nobody else has it");
    for _ in 0..3 {
        file.write_all_at(&[7; 4096], 8192).expect("there is room");
        assert_eq!(kinds(&devices.take_log().expect("the driver says")), ["dirty"]);
        disks.write_back().expect("it ends");
        assert_eq!(kinds(&devices.take_log().expect("the driver says")), ["submit", "complete"]);
        disks.write_back().expect("there is nothing to do");
        assert!(devices.take_log().expect("the driver says").is_empty());
    }
}

/// Returns the kilobytes in the caches of block devices.
fn buffers() -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").expect("it is there");
    let line =
        meminfo.lines().find_map(|line| line.strip_prefix("Buffers:")).expect("a line of it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn reclaim(backend: &dyn Backend) {
    const READ: usize = 1 << 20;
    let devices = backend.disks(HostId::default(), Side::Crash, Image::new(), Recording::On, 0);
    let disks = devices.of_type::<KernelDisks>().expect("they are the kernel's");
    let node = disks.attach(3, SECTORS, DiskModel::default()).expect("there is room");
    let file = OpenOptions::new().read(true).write(true).open(node).expect("nobody else has it");
    file.write_all_at(&[7; 4096], 0).expect("there is room");
    let before = buffers();
    file.read_exact_at(&mut vec![0; READ], 4096).expect("it can be read");
    let full = buffers();
    assert!(full >= before + READ as u64 / 1024, "{before} kB, and {full} after reading");
    disks.reclaim().expect("it can be asked for");
    assert!(buffers() <= full - READ as u64 / 1024, "{full} kB, and {} after that", buffers());
    assert_eq!(kinds(&devices.take_log().expect("the driver says")), ["dirty"], "dirty data stays");
    let mut read = [0; 4096];
    file.read_exact_at(&mut read, 0).expect("it can be read");
    assert_eq!(read, [7; 4096]);
}

/// Runs some steps, one per mutate, and again with each background work in the step of this index.
fn ways(cx: Cx<'_>, plan: &Plan, steps: &[&str], index: usize) -> Vec<(String, Seen)> {
    let mutates = steps.len() as u32;
    let plain = go_by(cx.registry, plan, cx.backend, &[], steps, mutates);
    let is_step = |choice: &Choice| choice.kind == ChoiceKind::Action;
    let begins: Vec<usize> =
        (0..plain.choices.len()).filter(|at| is_step(&plain.choices[*at])).collect();
    let end = begins.get(index + 1).copied().unwrap_or(plain.choices.len());
    let left = &steps[index + 1..];
    let mut ways = Vec::new();
    for at in begins[index] + 1..end {
        for rank in 1..plain.choices[at].options {
            let script = [&plain.choices[..at], &[plain.choices[at].with_rank(rank)]].concat();
            let seen = go_by(cx.registry, plan, cx.backend, &script, left, mutates);
            assert!(seen.choices[at + 1..].iter().all(is_step), "after it nothing is asked");
            let Choice { name, label, .. } = &seen.choices[at];
            ways.push((format!("{} {}", name.as_deref().expect("a name"), label), seen));
        }
    }
    ways.insert(0, ("nothing".to_owned(), plain));
    ways
}

/// A commit adds a commit block. Write-back adds a write. Reclaim adds no event of a disk.
fn happens(cx: Cx<'_>) {
    let plan = with(cx.shallow("fs-sync-ext4"), "all");
    let synced = ways(cx, &plan, &["write /a; fsync /a, /"], 0);
    let count = |seen: &Seen, wanted: fn(&Event) -> bool| {
        seen.events.iter().filter(|event| wanted(event)).count()
    };
    let commits = |seen: &Seen| {
        count(seen, |event| matches!(event, Event::Submit { flags, .. } if flags.fua))
    };
    let writes = |seen: &Seen| count(seen, |event| matches!(event, Event::Submit { .. }));
    let counted = |name: &str| {
        let way = named(&synced, name);
        (commits(way), writes(way))
    };
    let (plainly_committed, plainly_written) = counted("nothing");
    let (committed, written) = counted("commit after pwrite");
    assert!(committed == plainly_committed + 1 && written > plainly_written);
    assert_eq!(counted("reclaim after pwrite"), (plainly_committed, plainly_written));
    // When all is durable there is nothing to commit, and no data of the file to write.
    for name in ["commit after fsync of a directory", "write back /a after fsync of a directory"] {
        assert_eq!(counted(name), (plainly_committed, plainly_written), "{name}");
    }
    // The commit for the directory precedes the data of the file, unless write-back came before it.
    let later = ways(cx, &plan, &["write /a", "fsync /", "sync"], 0);
    for (name, data_first) in [
        ("nothing", false),
        ("reclaim after pwrite", false),
        ("write back all after pwrite", true),
        ("write back /a after pwrite", true),
    ] {
        let way = named(&later, name);
        // JBD2_MAGIC_NUMBER and JBD2_COMMIT_BLOCK, and the first bytes that the checker writes to
        // `/a`.
        let [commit, data] = [&[0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 2], b"a00001+0"]
            .map(|begin| first_write(way, begin));
        assert_eq!(data < commit, data_first, "{name}");
    }
}

fn named<'a>(ways: &'a [(String, Seen)], name: &str) -> &'a Seen {
    let names = || ways.iter().map(|(name, _)| name).collect::<Vec<_>>();
    &ways
        .iter()
        .find(|(found, _)| found == name)
        .unwrap_or_else(|| panic!("no {name}: {:?}", names()))
        .1
}

/// Returns the index of the first event that writes a block with this beginning.
fn first_write(seen: &Seen, begin: &[u8]) -> usize {
    let begins = |event: &Event| {
        matches!(event, Event::Submit { payload: Payload::Data(data),
        .. } if data.starts_with(begin))
    };
    seen.events.iter().position(begins).expect("it is written")
}

/// Writes `/a` again, where each write truncates the file first. After a commit between the two the
/// file can be empty.
fn canary(cx: Cx<'_>, report: &mut Report) {
    let steps = ["write /a; fsync /a, /", "write /a"];
    let go = |between: &str, cuts: bool| {
        let mut plan = with(cx.plan("ext4+cut-then-write"), between);
        let files = &mut plan.stack.0[2];
        files.options = files.options.clone().with("cuts", cuts);
        ways(cx, &plan, &steps, 1)
    };
    let counted = |ways: &[(String, Seen)]| -> Vec<(String, u64, usize)> {
        ways.iter().map(|(name, seen)| (name.clone(), seen.checked, seen.errors.len())).collect()
    };
    let expected = |expected: &[(&str, u64, usize)]| -> Vec<(String, u64, usize)> {
        expected
            .iter()
            .map(|(name, checked, errors)| ((*name).to_owned(), *checked, *errors))
            .collect()
    };
    let found = go("commit", true);
    assert_eq!(counted(&found), expected(&FOUND));
    for (error, _) in found.iter().flat_map(|(_, seen)| &seen.errors) {
        assert_eq!(
            (error.verdict, error.message.as_str()),
            (Verdict::Lost, "/a has 0 bytes, not 4096")
        );
    }
    let (_, seen) = found.iter().find(|(_, seen)| !seen.errors.is_empty()).expect("it is found");
    keep(report, "ext4-cut-then-write", seen);
    assert_eq!(counted(&go("none", true)), expected(&FOUND[..1]));
    assert_eq!(counted(&go("commit", false)), expected(&TWIN));
}

/// The background work and its place, the number of disks checked then, and the number that has
/// lost the file.
const FOUND: [(&str, u64, usize); 5] = [
    ("nothing", 4, 0),
    ("commit after open", 4, 0),
    ("commit after ftruncate", 4, 4),
    ("commit after pwrite", 4, 4),
    ("commit after close", 4, 0),
];
const TWIN: [(&str, u64, usize); 4] = [
    ("nothing", 4, 0),
    ("commit after open", 4, 0),
    ("commit after pwrite", 4, 0),
    ("commit after close", 4, 0),
];

/// The script has another site than the kernel's choice.
fn diverges(cx: Cx<'_>) {
    let plan = with(cx.shallow("fs-sync-ext4"), "commit");
    let runner = start(cx.registry, &plan, cx.backend);
    let mut script = go(&runner, "write /a", &[]).choices;
    script[1].label.site = "after rename".to_owned();
    match go(&runner, "write /a", &script).early {
        Some(UnitStop::Diverged(divergence)) => assert_eq!(
            divergence.to_string(),
            "choice 1: recorded 2 options at after rename, now 2 options at after open"
        ),
        other => panic!("{other:?}"),
    }
}

/// Failures of functions and a commit are chosen in one sequence, which can be replayed.
fn with_failures(cx: Cx<'_>) {
    let plan = with(cx.shallow("fs-failures-ext4"), "commit");
    let runner = start(cx.registry, &plan, cx.backend);
    let plain = go(&runner, "create /new", &[]).choices;
    let places = |kind: ChoiceKind| plain.iter().filter(|choice| choice.kind == kind).count();
    assert_eq!([places(ChoiceKind::SlabFailure), places(ChoiceKind::Thread)], BOTH, "{plain:#?}");
    for at in 1..plain.len() {
        let script = [&plain[..at], &[plain[at].with_rank(1)]].concat();
        let ended = go(&runner, "create /new", &script);
        assert!(
            ended.early.is_none() || matches!(ended.early, Some(UnitStop::Violated(..))),
            "{:?}",
            ended.early
        );
        assert_eq!(ended.choices[..at], plain[..at]);
        assert_eq!(
            (ended.choices[at].value, &ended.choices[at].label),
            (script[at].value, &script[at].label)
        );
    }
}

/// The number of choices of each kind in the creation of a file.
const BOTH: [usize; 2] = [6, 2];

fn start<'a>(registry: &'a Registry, plan: &'a Plan, backend: &'a dyn Backend) -> Runner<'a> {
    Runner::start(registry, plan, backend).expect("the stack starts")
}

/// Runs one mutate: the answers of a script first, then the step of this name.
fn go(runner: &Runner<'_>, step: &str, script: &[Choice]) -> UnitRun {
    let unit = Unit::one(State::default(), script.to_vec());
    runner.run(&unit, &mut Take { step })
}

/// Runs a step. Crash checks take time and check nothing.
struct Take<'a> {
    step: &'a str,
}

impl UnitHooks for Take<'_> {
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        steps::named(point, self.step)
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        ask: &CrashRequest<'_>,
        _so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        thread::sleep(Duration::from_millis(10));
        Ok(pipeline.skip(stack.devices(), ask.when)?)
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        true
    }
}

/// A thread may run while the checker waits for it. A thread that is left behind, or that runs
/// before others, makes the path not replayable.
fn found_out(backend: &dyn Backend) {
    let mut registry = explode::registry();
    registry.components.push(
        ComponentDef::new("helper", "has a thread", |_| Ok(Box::new(Helper { bell: None })))
            .modes([Mode::Vm])
            .on("ext4"),
    );
    registry
        .checkers
        .push(CheckerDef::new("wakes", "wakes the thread of a helper", |_| Ok(Box::new(Wakes))));
    let target = Target {
        name: "wakes".into(),
        about: "for tests".into(),
        stack: StackSpec::default()
            .plug("ramdisk", Options::none())
            .plug("ext4", Options::none().with("between", "commit"))
            .plug("helper", Options::none()),
        checker: "wakes".into(),
        checker_options: Options::none(),
        bounds: TargetBounds { depth: 1, limit: 10, samples: 4, crash_depth: 0 },
        seeded: true,
        expect: "clean".into(),
    };
    let plan =
        Plan { mode: Mode::Vm, ..Plan::of(&registry, &target).expect("its parts are there") };
    let runner = start(&registry, &plan, backend);
    let broken = |why: &str| Some(format!("not replayable: the thread helper {why} (EX-58)"));
    for (step, expected) in [
        ("wakes it and waits", None),
        ("wakes it and goes on", None),
        (
            "wakes it and stands still",
            broken("was woken and not waited for, and has run while the system stood still"),
        ),
        ("wakes it when it is first", broken("is held back, and has run while no task waited")),
    ] {
        let said = match go(&runner, step, &[]).early {
            None => None,
            Some(UnitStop::Broken(why)) => Some(why.message),
            other => panic!("{step}: {other:?}"),
        };
        assert_eq!(said, expected, "{step}");
    }
}

/// A component with a thread that answers a bell.
struct Helper {
    bell: Option<Rc<Bell>>,
}

struct Bell {
    thread: u32,
    rings: SyncSender<Ring>,
}

enum Ring {
    /// The sender does not wait.
    Plain,
    /// The sender waits for an answer.
    Answer(SyncSender<()>),
    /// The thread runs before all others from now on.
    First(SyncSender<()>),
}

impl Component for Helper {
    fn mount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        let (rings, bell) = sync_channel(8);
        let (sender, receiver) = sync_channel(1);
        let answer = move || {
            sender.send(gettid().as_raw() as u32).expect("somebody waits");
            answer(&bell);
        };
        thread::Builder::new().name("helper".to_owned()).spawn(answer).expect("there is room");
        self.bell = Some(Rc::new(Bell { thread: receiver.recv().expect("it says"), rings }));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.bell = None;
        Ok(())
    }

    fn threads(&self) -> Vec<u32> {
        self.bell.iter().map(|bell| bell.thread).collect()
    }

    fn surface(&self) -> Surface {
        self.bell.clone().map_or(Surface::Child, |bell| Surface::Engine(bell))
    }
}

/// Answers until there is no sender any more.
fn answer(bell: &Receiver<Ring>) {
    while let Ok(ring) = bell.recv() {
        match ring {
            Ring::Plain => {}
            Ring::Answer(answer) => answer.send(()).expect("somebody waits"),
            Ring::First(answer) => {
                let first = sched_param { sched_priority: 3 };
                // SAFETY: the kernel reads one sched_param.
                assert_eq!(unsafe { sched_setscheduler(0, SCHED_FIFO, &raw const first) }, 0);
                answer.send(()).expect("somebody waits");
            }
        }
    }
}

struct Wakes;

impl Checker for Wakes {
    fn mutate(&mut self, cx: &mut Steps<'_>) -> Result<(), CheckError> {
        let bell = cx.stack().engine::<Bell>()?;
        let names = [
            "wakes it and waits",
            "wakes it and goes on",
            "wakes it and stands still",
            "wakes it when it is first",
        ]
        .map(str::to_owned);
        let point = ChoicePoint::action(4, explode_runtime::choose::Label::default());
        let step = cx.choose_at(&ChoicePoint { names: &names, ..point });
        let ring = |ring| bell.rings.send(ring).expect("it listens");
        let wait = |with: fn(SyncSender<()>) -> Ring| {
            let (answer, answered) = sync_channel(1);
            ring(with(answer));
            answered.recv().expect("it answers");
        };
        match step {
            0 => wait(Ring::Answer),
            3 => {
                wait(Ring::First);
                // The wait is over here.
                cx.without_faults(|_| ());
                ring(Ring::Plain);
            }
            _ => ring(Ring::Plain),
        }
        if step == 2 { cx.check_crashes_now(self, &[]) } else { Ok(()) }
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}
