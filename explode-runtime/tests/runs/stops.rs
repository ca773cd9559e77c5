//! A run can be stopped early at every step. The remaining checks are counted, and a resumed run
//! has the counts of a run that was never stopped. A run is stopped at each of its steps in turn. A
//! budget ends it in the same way.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use explode_ramdisk::{Flags, RamDisk};
use explode_runtime::base::{Mode, Options, RunError, StepError, UsageError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::choose::{Answers, ChoicePoint, Policy};
use explode_runtime::crash::Epoch;
use explode_runtime::devices::InProcess;
use explode_runtime::explore::{Exhaust, FinishedUnit, Strategy, Unit};
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Finding, Message, Summary};
use explode_runtime::run::{
    Confirmation, Persistence, ResumedJournal, RunSink, StrategyName, Supervisor,
};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Recovery, Stack, Surface};
use explode_runtime::trace::{ReplayResult, Trace};
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use explode_runtime::worker::{InThreadWorkers, replay};

use crate::common;

const BLOCK: usize = 4096;
const NEVER: usize = usize::MAX;

thread_local! {
    static STEPS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// The step, from 1, at which the run is stopped.
    static STOP_AT: Cell<usize> = const { Cell::new(NEVER) };
    static STOP: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    /// True during a replay, whose steps are not noted. A replay is one step.
    static REPLAYS: Cell<bool> = const { Cell::new(false) };
}

fn step(name: &'static str) {
    if REPLAYS.get() {
        return;
    }
    let steps = STEPS.with_borrow_mut(|steps| {
        steps.push(name);
        steps.len()
    });
    if steps == STOP_AT.get() {
        STOP.with(|stop| stop.store(true, Ordering::Relaxed));
    }
}

/// A disk whose recovery writes.
fn disk() -> ComponentDef {
    ComponentDef::new("disk", "a disk whose recovery writes", |_| Ok(Box::new(Disk(None))))
        .modes([Mode::Mem])
}

struct Disk(Option<RamDisk>);

impl Component for Disk {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        step("mount");
        self.0 = Some(RamDisk::new(below.devices.storage()?.clone(), below.first_device, 64));
        Ok(())
    }
    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        step("recover");
        let disk = RamDisk::new(below.devices.storage()?.clone(), below.first_device, 64);
        let mut found = [0; BLOCK];
        disk.read(8, &mut found);
        disk.write(32, &found, Flags::NONE);
        disk.write(40, &[7; BLOCK], Flags::NONE);
        Ok(Recovery::Clean)
    }
    fn surface(&self) -> Surface {
        self.0.clone().map_or(Surface::Child, Surface::Disk)
    }
    fn facts(&self) -> Facts {
        Facts::default().devices(1)
    }
}

/// A checker with three actions. Two of them write two blocks, and are wrong in two ways if only
/// one of the blocks is on the disk. The third writes one block.
struct Pairs {
    mutates: u8,
}

impl Checker for Pairs {
    fn init(&mut self, _stack: &Stack) -> Result<(), StepError> {
        step("init");
        Ok(())
    }
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        step("mutate");
        self.mutates += 1;
        let disk = cx.stack().disk()?;
        let which = cx.choose(3);
        let block = [self.mutates * 10 + which as u8; BLOCK];
        disk.write(8 * (which as u64 + 1), &block, Flags::NONE);
        if which < 2 {
            disk.write(8 * (which as u64 + 2), &block, Flags::NONE);
        }
        let wrong = ["0", "1", ""][if self.mutates == 2 { which } else { 2 }];
        cx.check_crashes_now(self, &[wrong.to_owned()])
    }
    fn check(&self, stack: &Stack, _epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        step("check");
        let disk = stack.disk()?;
        let at = |block: u64| {
            let mut bytes = [0; BLOCK];
            disk.read(block * 8, &mut bytes);
            bytes[0]
        };
        let torn = |one: u64| {
            if at(one) / 10 == 2 && at(one + 1) / 10 != 2 {
                "first"
            } else if at(one + 1) / 10 == 2 && at(one) / 10 != 2 {
                "second"
            } else {
                ""
            }
        };
        let found = args[0].parse::<u64>().map_or("", |which| torn(which + 1));
        match found {
            "" => Ok(()),
            promise => Err(Violation::new(
                Verdict::Lost,
                format!("{promise}-{}", args[0]),
                "the other is gone",
            )
            .into()),
        }
    }
    fn check_key(&self) -> Option<Vec<u8>> {
        Some(vec![self.mutates])
    }
}

fn pairs(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Pairs { mutates: 0 }))
}

fn registry() -> Registry {
    let mut registry = Registry { components: [disk()].into(), ..common::registry(pairs) };
    registry.policies.register("always", |data| Box::new(Always(data[0])));
    registry
}

fn plan(chop: Option<u32>, strategy: StrategyName) -> Plan {
    let mut plan = common::plan(2);
    plan.settings.chop = chop;
    plan.settings.strategy = strategy;
    // Every check is made, so that there are many steps.
    plan.settings.skip = false;
    plan
}

/// The result of a run, with the last report of each finding, by signature.
struct Ran {
    result: Result<Summary, RunError>,
    findings: Vec<Finding>,
    steps: Vec<&'static str>,
}

/// A sink that keeps its messages in memory. The folder has only the journal.
struct Listening<'a> {
    folder: &'a Path,
    registry: &'a Registry,
    findings: Vec<Finding>,
    traces: BTreeMap<PathBuf, Trace>,
}

impl RunSink for Listening<'_> {
    fn open(&mut self, _target: &str) -> Result<PathBuf, RunError> {
        std::fs::create_dir_all(self.folder).unwrap();
        Ok(self.folder.to_owned())
    }

    fn emit(&mut self, message: &Message) -> Result<(), RunError> {
        if let Message::Finding(finding) = message {
            self.findings.retain(|known| known.signature != finding.signature);
            self.findings.push(finding.clone());
        }
        Ok(())
    }

    fn keep(&mut self, id: &str, trace: &Trace) -> Result<PathBuf, RunError> {
        self.traces.insert(PathBuf::from(id), trace.clone());
        Ok(PathBuf::from(id))
    }

    fn confirm(&mut self, trace: &Path) -> Confirmation {
        step("replay");
        REPLAYS.set(true);
        let outcome = replay(self.registry, &self.traces[trace], &InProcess).unwrap();
        REPLAYS.set(false);
        match outcome {
            ReplayResult::Reproduced { by_search: false, .. } => Confirmation::Reproduced,
            other => Confirmation::Not(format!("{other:?}")),
        }
    }
}

/// Runs a plan in a folder, or resumes it there, and stops at a step.
fn run(
    plan: &Plan,
    own: Option<Box<dyn Strategy>>,
    folder: &Path,
    resume: bool,
    stop_at: usize,
) -> Ran {
    let registry = registry();
    let mut sink =
        Listening { folder, registry: &registry, findings: Vec::new(), traces: BTreeMap::new() };
    STEPS.take();
    STOP_AT.set(stop_at);
    STOP.with(|stop| stop.store(false, Ordering::Relaxed));
    let mut workers = InThreadWorkers::new(&registry, plan, &InProcess);
    let mut supervisor = Supervisor::new(plan, &mut workers, &mut sink);
    supervisor.strategy = own;
    supervisor.keep = match resume {
        true => Persistence::Resume(Box::new(ResumedJournal::read(folder).unwrap())),
        false => Persistence::Journal,
    };
    supervisor.interrupt = Some(STOP.with(|stop| *stop));
    let result = supervisor.run();
    Ran { result, findings: sink.findings, steps: STEPS.take() }
}

fn number(count: &explode_runtime::base::ExactCount) -> u64 {
    count.to_string().parse().unwrap()
}

/// Returns all counts of a summary.
fn counts(summary: &Summary) -> [u64; 10] {
    let Summary { states, operations, choices, crash_disks, distinct, checked, .. } = summary;
    let Summary { pending, crash_crash_disks, broken, findings, .. } = summary;
    [
        states,
        operations,
        choices,
        crash_disks,
        distinct,
        checked,
        pending,
        crash_crash_disks,
        broken,
        findings,
    ]
    .map(number)
}

/// Stops at every third step and at the last one, then resumes. (Every step works as well, but the
/// journal takes time.)
fn stopped_everywhere(
    plan: &Plan,
    own: impl Fn() -> Option<Box<dyn Strategy>>,
) -> ([u64; 10], usize) {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(plan, own(), &folder.path().join("whole"), false, NEVER);
    let expected = counts(whole.result.as_ref().unwrap());
    // The first start comes before the run looks at its time.
    assert_eq!(whole.steps[0], "mount");
    for stop_at in (2..whole.steps.len()).step_by(3).chain([whole.steps.len()]) {
        let out = folder.path().join(stop_at.to_string());
        let stopped = run(plan, own(), &out, false, stop_at);
        let summary = stopped.result.unwrap();
        let [_, _, _, _, distinct, checked, pending, _, broken, findings] = counts(&summary);
        let step = whole.steps[stop_at - 1];
        let equivalent: u64 = summary.equivalent.to_string().parse().unwrap();
        assert_eq!(
            (distinct, broken),
            (checked + equivalent + pending, 0),
            "step {stop_at}, {step}"
        );
        assert!(!summary.complete || stop_at == whole.steps.len(), "step {stop_at}, {step}");
        // After the stop at most one thing is done: the replay without which there would be no
        // finding.
        let after = &stopped.steps[stop_at..];
        assert!(
            after.is_empty() || (after == ["replay"] && findings == 1),
            "step {stop_at}, {step}: {after:?}"
        );
        assert_eq!(
            stopped.findings.iter().filter(|finding| finding.replayed).count() as u64,
            findings
        );
        for late in stopped.findings.iter().filter(|finding| !finding.replayed) {
            assert_eq!(
                late.not_replayed.as_deref(),
                Some("the time of the run was up before its replay")
            );
            assert!(findings > 0);
        }
        let resumed = run(plan, own(), &out, true, NEVER);
        let summary = resumed.result.unwrap();
        assert_eq!(counts(&summary), expected, "step {stop_at}, {step}");
        assert!(summary.complete && resumed.findings.iter().all(|finding| finding.replayed));
        std::fs::remove_dir_all(&out).unwrap();
    }
    (expected, whole.steps.len())
}

#[test]
fn a_stop_holds_at_every_step_and_leaves_checks_pending() {
    let (expected, steps) = stopped_everywhere(&plan(None, StrategyName::Exhaust), || None);
    assert_eq!((expected, steps), ([7, 12, 12, 83, 61, 61, 0, 70, 0, 4], 443));
}

#[test]
fn a_stop_holds_where_checks_are_skipped() {
    let mut plan = plan(None, StrategyName::Exhaust);
    plan.settings.skip = true;
    let (expected, steps) = stopped_everywhere(&plan, || None);
    assert_eq!((expected, steps), ([7, 12, 12, 83, 61, 46, 0, 70, 0, 4], 191));
}

#[test]
fn a_stop_holds_with_chops() {
    let (expected, steps) = stopped_everywhere(&plan(Some(1), StrategyName::Dfs), || None);
    assert_eq!((expected, steps), ([7, 12, 12, 40, 37, 37, 0, 45, 0, 4], 314));
}

/// A strategy of the caller: that of `inner`, with `skip` more mutates in each unit.
struct Mine {
    inner: Exhaust,
    skip: u32,
}

impl Strategy for Mine {
    fn next(&mut self) -> Option<Unit> {
        let mut unit = self.inner.next()?;
        unit.mutates += self.skip;
        Some(unit)
    }
    fn observe(&mut self, finished: &FinishedUnit<'_>) {
        self.inner.observe(finished);
    }
}

fn mine(skip: u32) -> Option<Box<dyn Strategy>> {
    Some(Box::new(Mine { inner: Exhaust::new(2), skip }))
}

/// A strategy of one walk of one mutate. The mutate makes one choice, with this answer.
struct Once(Option<u8>);

/// Gives the same answer to all points.
struct Always(u8);

impl Answers for Always {
    fn answer(&mut self, _point: &ChoicePoint<'_>) -> u32 {
        self.0.into()
    }
}

impl Strategy for Once {
    fn next(&mut self) -> Option<Unit> {
        let policy =
            |answer: u8| Policy::Registered { name: "always".to_owned(), data: vec![answer] };
        self.0.map(|answer| Unit { mutates: 1, policy: policy(answer), ..Unit::default() })
    }
    fn observe(&mut self, _finished: &FinishedUnit<'_>) {
        self.0 = None;
    }
}

/// A sample does not cover everything, and the disks of a recovery count like others. One block
/// leaves 2 disks. Its recovery writes two more blocks, which leave 4 disks. One of these is the
/// disk itself.
#[test]
fn a_sampled_recovery_is_not_complete() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(None, StrategyName::Own("once".to_owned()));
    for (limit, samples, complete, left_out) in
        [(4, 2, true, 0), (3, 3, false, 2), (3, 2, false, 4)]
    {
        (plan.settings.limit, plan.settings.samples) = (limit, samples);
        let out = folder.path().join(format!("{limit}-{samples}"));
        let summary = run(&plan, Some(Box::new(Once(Some(2)))), &out, false, NEVER).result.unwrap();
        assert_eq!((summary.complete, number(&summary.left_out)), (complete, 0));
        assert_eq!(number(&summary.crash_crash_left_out), left_out);
    }
}

/// A strategy of the caller is resumed where it was. A strategy that takes another path is refused,
/// and so is the name without its strategy.
#[test]
fn an_own_strategy_is_resumed() {
    let plan = plan(None, StrategyName::Own("mine".to_owned()));
    stopped_everywhere(&plan, || mine(0));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let stopped = run(&plan, mine(0), &out, false, 60);
    assert!(!stopped.result.unwrap().complete);
    for (other, word) in
        [(mine(1), "other units than those of the journal"), (None, "another program")]
    {
        let error = run(&plan, other, &out, true, NEVER).result.unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert!(run(&plan, mine(0), &out, true, NEVER).result.unwrap().complete);
}
