//! Chops (EX-53): the bugs that are found with them, those that are lost by design, and the small
//! number of repeated mutates.

use std::cell::RefCell;

use explode_ramdisk::Flags;
use explode_runtime::base::{Options, StepError, UsageError};
use explode_runtime::check::{Checker, CheckerAbilities, Chop, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common::{self, Said};

thread_local! {
    /// The number of mutates on the path, at each call of mutate.
    static CALLS: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

const BLOCK: usize = 4096;

/// The action of a store in a mutate.
#[derive(Clone, Copy)]
enum Step {
    /// Writes the next record to the disk's cache.
    Write,
    /// Writes a pointer that bypasses the cache. The records that it counts may be lost: this is
    /// the bug.
    Point,
    /// Flushes the cache.
    Flush,
}

/// A store of records, and a pointer with the number of records. Records that the pointer counts
/// must exist.
#[derive(Clone)]
struct Store {
    steps: &'static [Step],
    forks: bool,
    records: u8,
    mutates: u32,
    /// The number of chops that the checker was notified of.
    chops: u32,
}

const ALL: &[Step] = &[Step::Write, Step::Point, Step::Flush];

fn store(steps: &'static [Step], forks: bool) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Store { steps, forks, records: 0, mutates: 0, chops: 0 }))
}

impl Checker for Store {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        self.mutates += 1;
        CALLS.with_borrow_mut(|calls| calls.push(self.mutates));
        let disk = cx.stack().disk()?;
        match self.steps[cx.choose(self.steps.len())] {
            Step::Write => {
                self.records += 1;
                disk.write(u64::from(self.records) * 8, &[self.records; BLOCK], Flags::NONE);
            }
            Step::Point => {
                disk.write(0, &[self.records; BLOCK], Flags::FUA);
                cx.check_crashes_now(self, &[])?;
            }
            Step::Flush => disk.flush(),
        }
        Ok(())
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let disk = stack.disk()?;
        let mut block = [0; BLOCK];
        disk.read(0, &mut block);
        let counted = block[0];
        for record in 1..=counted {
            disk.read(u64::from(record) * 8, &mut block);
            if block != [record; BLOCK] {
                let message = format!("{counted} records are counted, {record} is not there");
                return Err(Violation::new(Verdict::Lost, "record", message).into());
            }
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        self.forks.then(|| Box::new(self.clone()) as Box<dyn Checker>)
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().chop(self)
    }
}

impl Chop for Store {
    fn chop(&self, stack: &Stack) -> Result<Box<dyn Checker>, StepError> {
        stack.disk()?;
        Ok(Box::new(Store { chops: self.chops + 1, ..self.clone() }))
    }
}

type Build = fn(&Options) -> Result<Box<dyn Checker>, UsageError>;

fn explore(
    build: Build,
    depth: u32,
    chop: Option<u32>,
    strategy: &StrategyName,
) -> (Said, Vec<u32>) {
    let mut plan = common::plan(depth);
    plan.settings.chop = chop;
    plan.settings.strategy = strategy.clone();
    let said = common::run(&common::registry(build), &plan);
    assert!(said.summary().complete && said.summary().broken.is_zero(), "{:?}", said.summary());
    (said, CALLS.with_borrow_mut(std::mem::take))
}

/// Returns the counts of states, operations, crash disks, checks and findings.
fn counts(said: &Said) -> [String; 5] {
    let summary = said.summary();
    [
        &summary.states,
        &summary.operations,
        &summary.crash_disks,
        &summary.checked,
        &summary.findings,
    ]
    .map(ToString::to_string)
}

/// The write and the pointer are two mutates. The bug is found if both are between two chops. With
/// a chop between them it is lost by design, under any strategy.
#[test]
fn a_bug_is_found_within_the_window_and_lost_across_a_chop() {
    let build: Build = |_| store(ALL, true);
    let cases = [
        (2, None, 1),
        (2, Some(1), 0),
        (4, Some(1), 0),
        (2, Some(2), 1),
        (4, Some(2), 1),
        (4, Some(3), 1),
    ];
    for (depth, chop, findings) in cases {
        for strategy in [StrategyName::Exhaust, StrategyName::Dfs, StrategyName::Different] {
            let (said, _) = explore(build, depth, chop, &strategy);
            let found: Vec<_> = said
                .findings()
                .iter()
                .map(|finding| (finding.signature.clone(), finding.replayed))
                .collect();
            let bug = ("test/lost/record".to_owned(), true);
            assert_eq!(found, vec![bug; findings], "depth {depth}, chop {chop:?}, {strategy}");
        }
    }
}

/// The path of the finding leads through chops, which the trace has. A fresh process takes this
/// path from the pristine disks on, and gets an equal log.
#[test]
fn a_trace_with_chops_replays() {
    // The fourth mutate is the earliest that can write the record that the pointer counts.
    let builds: [Build; 2] = [|_| late(true), |_| late(false)];
    for build in builds {
        let (said, _) = explore(build, 5, Some(2), &StrategyName::Exhaust);
        // The test confirms a finding only by a replay with the recorded log.
        assert_eq!(
            said.findings().iter().map(|finding| finding.replayed).collect::<Vec<_>>(),
            [true]
        );
        let trace = &said.traces[0];
        assert_eq!((trace.mutates, &trace.chops[..]), (4, &[2][..]));
        let text = trace.to_json();
        assert!(text.contains("\"chops\": [\n    2\n  ]"), "{text}");
    }
}

fn late(forks: bool) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Late(Store { steps: ALL, forks, records: 0, mutates: 0, chops: 0 })))
}

/// A store that only flushes before the third mutate.
#[derive(Clone)]
struct Late(Store);

impl Checker for Late {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        self.0.steps =
            if self.0.mutates < 2 { &[Step::Flush] } else { &[Step::Write, Step::Point] };
        self.0.mutate(cx)
    }
    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        self.0.check(stack, epoch, args)
    }
    fn fork(&self) -> Option<Box<dyn Checker>> {
        self.0.forks.then(|| Box::new(self.clone()) as Box<dyn Checker>)
    }
}

/// Returns the number of mutates that each unit repeats before the one that it explores.
fn repeated(calls: &[u32], operations: u64) -> Vec<u32> {
    let mut units: Vec<u32> = Vec::new();
    let mut before = 0;
    for (at, depth) in calls.iter().enumerate() {
        // The next unit begins where the depth does not grow by one.
        if calls.get(at + 1).is_none_or(|next| *next != depth + 1) || is_explored(calls, at) {
            units.push(before);
            before = 0;
        } else {
            before += 1;
        }
    }
    assert_eq!(units.len() as u64, operations);
    units
}

/// Returns true if a unit explores this mutate. With one option only, it was never called before.
fn is_explored(calls: &[u32], at: usize) -> bool {
    calls[..at].iter().all(|before| *before < calls[at])
}

/// One option, eight deep. The n-th unit repeats all mutates before it. With chops it repeats only
/// those after the last chop, a chop at its own beginning excluded.
#[test]
fn restoring_repeats_no_more_than_a_window() {
    let forks: Build = |_| store(&[Step::Flush], true);
    let plain: Build = |_| store(&[Step::Flush], false);
    let units = |build: Build, chop| {
        let (said, calls) = explore(build, 8, chop, &StrategyName::Exhaust);
        (counts(&said), repeated(&calls, 8))
    };
    let (expected, all) = units(forks, None);
    assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(units(forks, Some(2)), (expected.clone(), vec![0, 1, 2, 1, 2, 1, 2, 1]));
    assert_eq!(units(forks, Some(3)), (expected.clone(), vec![0, 1, 2, 3, 1, 2, 3, 1]));
    assert_eq!(units(forks, Some(1)), (expected.clone(), vec![0, 1, 1, 1, 1, 1, 1, 1]));
    // Without copies of the checker every mutate is repeated, with equal results.
    assert_eq!(units(plain, Some(2)), (expected, all));
}

/// With many paths, a state from the cache gives the same results as its path from the beginning.
#[test]
fn a_checker_without_copies_has_equal_results() {
    let forks: Build = |_| store(ALL, true);
    let plain: Build = |_| store(ALL, false);
    for chop in [1, 2, 3] {
        for strategy in [StrategyName::Exhaust, StrategyName::Dfs] {
            let (with, few) = explore(forks, 6, Some(chop), &strategy);
            let (without, many) = explore(plain, 6, Some(chop), &strategy);
            assert_eq!(counts(&with), counts(&without), "{chop} {strategy}");
            assert_eq!(with.traces, without.traces, "{chop} {strategy}");
            assert!(few.len() < many.len(), "{chop} {strategy}: {} {}", few.len(), many.len());
        }
    }
}

/// A store whose first mutate writes a record, and chooses whether the stack is mounted again
/// before the second.
#[derive(Clone)]
struct Begun {
    store: Store,
    remounts: bool,
}

fn begun(forks: bool) -> Result<Box<dyn Checker>, UsageError> {
    let store = Store { steps: ALL, forks, records: 0, mutates: 0, chops: 0 };
    Ok(Box::new(Begun { store, remounts: false }))
}

impl Checker for Begun {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        if self.store.mutates == 0 {
            self.remounts = cx.choose(2) == 1;
            self.store.steps = &[Step::Write];
        }
        self.store.mutate(cx)?;
        self.store.steps = ALL;
        Ok(())
    }
    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        self.store.check(stack, epoch, args)
    }
    fn fork(&self) -> Option<Box<dyn Checker>> {
        self.store.forks.then(|| Box::new(self.clone()) as Box<dyn Checker>)
    }
    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().remounts(self.remounts).chop(self)
    }
}

impl Chop for Begun {
    fn chop(&self, stack: &Stack) -> Result<Box<dyn Checker>, StepError> {
        stack.disk()?;
        let store = Store { chops: self.store.chops + 1, ..self.store.clone() };
        Ok(Box::new(Begun { store, ..self.clone() }))
    }
}

/// The record of the first mutate is durable after the remount. So the pointer of the second mutate
/// counts a lost record only if the stack was not mounted again. With a third mutate both starts
/// lead to the bug, and the trace of each says whether there was a chop.
#[test]
fn a_checker_asks_for_a_remount_after_its_first_mutate() {
    let builds: [Build; 2] = [|_| begun(true), |_| begun(false)];
    for build in builds {
        let (said, _) = explore(build, 2, None, &StrategyName::Exhaust);
        assert_eq!(said.traces.len(), 1);
        assert!(said.traces[0].chops.is_empty(), "{:?}", said.traces[0].chops);
        // Two starts, then three steps from each. The state of the finding is not counted.
        assert_eq!(counts(&said)[..2], ["8", "8"]);

        let only: Build = |_| {
            let store = Store { steps: ALL, forks: true, records: 0, mutates: 0, chops: 0 };
            Ok(Box::new(Remounted(Begun { store, remounts: true })))
        };
        let (said, calls) = explore(only, 2, None, &StrategyName::Exhaust);
        assert_eq!(
            (said.traces.len(), &calls[..]),
            (0, &[1, 1, 2, 2, 2][..]),
            "once to explore, once to chop"
        );
        let (said, _) = explore(only, 3, None, &StrategyName::Exhaust);
        assert_eq!(
            said.findings().iter().map(|finding| finding.replayed).collect::<Vec<_>>(),
            [true]
        );
        assert_eq!((said.traces[0].mutates, &said.traces[0].chops[..]), (3, &[1][..]));
    }
}

/// A [`Begun`] that always asks for a remount.
#[derive(Clone)]
struct Remounted(Begun);

impl Checker for Remounted {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let steps = if self.0.store.mutates == 0 { &[Step::Write] } else { ALL };
        self.0.store.steps = steps;
        self.0.store.mutate(cx)
    }
    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        self.0.check(stack, epoch, args)
    }
    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }
    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().remounts(true)
    }
}

/// A remount counts as a chop of its own: `--chop` still chops after every K mutates.
#[test]
fn a_remount_and_chop_go_together() {
    let build: Build = |_| begun(true);
    let plain: Build = |_| begun(false);
    for chop in [1, 2] {
        let (with, _) = explore(build, 4, Some(chop), &StrategyName::Exhaust);
        let (without, _) = explore(plain, 4, Some(chop), &StrategyName::Exhaust);
        assert_eq!(counts(&with), counts(&without), "{chop}");
        assert_eq!(with.traces, without.traces, "{chop}");
        // Between two chops of a window of one mutate no record is volatile.
        assert_eq!(with.traces.len(), usize::from(chop > 1), "{chop}");
    }
}
