//! Crashes during recovery, during the recovery from those, and so on (EX-78): every disk of each
//! depth, compared with a count by brute force. Also a recovery that only fails after it was
//! interrupted twice or three times.

use std::collections::BTreeSet;

use explode_ramdisk::{Flags, RamDisk};
use explode_runtime::base::{Mode, OptionDef, Options, StepError};
use explode_runtime::check::{Checker, CheckerDef, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::explore::StrategyName;
use explode_runtime::plan::{MOST_CRASH_DEPTH, Registry};
use explode_runtime::stack::{Below, Component, ComponentDef, Recovery, Stack, StackSpec, Surface};
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common::{self, Said};

/// The first byte of four sectors: the contents of the disk, for this toy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State([u8; 4]);

/// The sectors: the number of recoveries that have begun and not ended, the journal, and two copies
/// of the journal.
const ATTEMPTS: usize = 0;
const JOURNAL: usize = 1;
const COPIES: [usize; 2] = [2, 3];

#[derive(Clone, Copy)]
enum Step {
    Write(usize, u8),
    Flush,
}

/// A value of `patience`: recovery proceeds by phases, which [`ATTEMPTS`] holds, and not by
/// attempts.
const PHASES: u8 = 0;

/// Returns the steps of a recovery by phases: from the crash to phase 1, then to phase 2, then to
/// the copies. A recovery that begins in phase 2 passes phase 9. A recovery that begins in phase 9
/// does nothing.
fn phases(state: State) -> Vec<Step> {
    let way: &[u8] = match state.0[ATTEMPTS] {
        0 => &[1, 2],
        1 => &[2],
        2 => &[9],
        _ => return Vec::new(),
    };
    let way = way.iter().flat_map(|phase| [Step::Write(ATTEMPTS, *phase), Step::Flush]);
    let copies = COPIES.map(|to| Step::Write(to, state.0[JOURNAL]));
    way.chain(copies).chain([Step::Flush, Step::Write(ATTEMPTS, 0), Step::Flush]).collect()
}

/// Returns the steps of the recovery of a disk in this state. It counts itself, writes the journal
/// to both copies in any order, and ends its count. After `patience` attempts that did not end it
/// gives up and clears the copies.
fn recovery(state: State, patience: u8) -> Vec<Step> {
    let State(bytes) = state;
    let copy = |to| Step::Write(to, bytes[JOURNAL]);
    if patience == PHASES {
        return phases(state);
    }
    if bytes[ATTEMPTS] >= patience {
        return vec![
            Step::Write(COPIES[0], 0),
            Step::Write(COPIES[1], 0),
            Step::Write(ATTEMPTS, 0),
            Step::Flush,
        ];
    }
    if bytes[ATTEMPTS] == 0 && COPIES.iter().all(|at| bytes[*at] == bytes[JOURNAL]) {
        return Vec::new();
    }
    let begin = [Step::Write(ATTEMPTS, bytes[ATTEMPTS] + 1), Step::Flush];
    let work = [copy(COPIES[0]), copy(COPIES[1]), Step::Flush];
    begin.into_iter().chain(work).chain([Step::Write(ATTEMPTS, 0), Step::Flush]).collect()
}

/// Returns the states that a crash can leave anywhere in these steps, except the state before them.
/// Each sector that was written since the last flush has its old or its new byte, whatever the
/// other sectors have.
fn crashes(begin: State, steps: &[Step]) -> BTreeSet<State> {
    let mut found = BTreeSet::new();
    let (mut durable, mut pending) = (begin, Vec::new());
    for step in steps {
        match step {
            Step::Write(at, byte) => pending.push((*at, *byte)),
            Step::Flush => pending.drain(..).for_each(|(at, byte)| durable.0[at] = byte),
        }
        for kept in 0..1u32 << pending.len() {
            let mut disk = durable;
            for (index, (at, byte)) in pending.iter().enumerate() {
                if kept & 1 << index != 0 {
                    disk.0[*at] = *byte;
                }
            }
            found.insert(disk);
        }
    }
    found.remove(&begin);
    found
}

/// Returns the disks of each depth, for a crash disk in this state.
fn by_brute_force(crash_disk: State, patience: u8, depth: u32) -> Vec<BTreeSet<State>> {
    let mut levels = vec![BTreeSet::from([crash_disk])];
    for _ in 0..depth {
        let before = levels.last().expect("there is the first");
        let next = before.iter().flat_map(|state| crashes(*state, &recovery(*state, patience)));
        levels.push(next.filter(|state| *state != crash_disk).collect());
    }
    levels.split_off(1)
}

fn toy() -> ComponentDef {
    ComponentDef::new("toy", "a journal and two copies, for tests", |options| {
        Ok(Box::new(Toy { patience: options.int("patience", 255)? as u8 }))
    })
    .modes([Mode::Mem])
    .on("disk")
    .options([OptionDef {
        name: "patience",
        about: "how many attempts it makes",
        default: "255",
    }])
}

struct Toy {
    patience: u8,
}

fn read(disk: &RamDisk) -> State {
    let mut state = State::default();
    for (sector, byte) in state.0.iter_mut().enumerate() {
        let mut bytes = [0; 512];
        disk.read(sector as u64 * 8, &mut bytes);
        *byte = bytes[0];
    }
    state
}

fn take(disk: &RamDisk, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Write(sector, byte) => disk.write(*sector as u64 * 8, &[*byte; 512], Flags::NONE),
            Step::Flush => disk.flush(),
        }
    }
}

impl Component for Toy {
    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        let disk = below.disk(0)?;
        let steps = recovery(read(&disk), self.patience);
        take(&disk, &steps);
        Ok(if steps.is_empty() { Recovery::Clean } else { Recovery::Repaired })
    }
    fn surface(&self) -> Surface {
        Surface::Child
    }
}

/// A checker that writes the journal. After recovery both copies must hold it.
struct Journal;

impl Checker for Journal {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        take(&cx.stack().disk()?, &[Step::Write(JOURNAL, 7), Step::Flush]);
        cx.check_crashes_now(self, &[])
    }
    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let found = read(&stack.disk()?);
        if found == State([0, 7, 7, 7]) {
            return Ok(());
        }
        Err(Violation::new(Verdict::Lost, "journal", format!("{found:?}")).into())
    }
}

/// The orders of the checks: crashes during recovery at once, or after all crash disks.
const STRATEGIES: [StrategyName; 2] = [StrategyName::Exhaust, StrategyName::Shuffle];

const CRASHED: State = State([0, 7, 0, 0]);

fn run(strategy: &StrategyName, patience: u8, depth: u32) -> Said {
    let checker =
        CheckerDef::new("test", "a checker for tests", |_: &Options| Ok(Box::new(Journal)));
    let registry = Registry {
        components: [common::disk(), toy()].into(),
        checkers: [checker].into(),
        ..Registry::default()
    };
    let mut plan = common::plan(1);
    plan.stack = StackSpec::default()
        .plug("disk", Options::none())
        .plug("toy", Options::none().with("patience", u64::from(patience)));
    plan.settings.crash_depth = depth;
    plan.settings.strategy = strategy.clone();
    // Brute force makes every check.
    plan.settings.skip = false;
    common::run(&registry, &plan)
}

/// Counted by hand: depth one has 1 + 3 + 1 disks (the count is set; one copy, the other, both; the
/// count has ended). The next depth has the same with the count one higher.
#[test]
fn the_disks_of_each_depth_are_those_of_brute_force() {
    let levels = by_brute_force(CRASHED, 255, 3);
    assert_eq!(levels.iter().map(BTreeSet::len).collect::<Vec<_>>(), LEVELS);
    for (strategy, depth) in
        STRATEGIES.iter().flat_map(|one| (0..=3).map(move |depth| (one, depth)))
    {
        let summary = run(strategy, 255, depth).summary().clone();
        assert_eq!(
            (&summary.crash_disks, &summary.checked, &summary.findings),
            (&1.into(), &1.into(), &0.into())
        );
        let expected: usize = LEVELS[..depth as usize].iter().sum();
        assert_eq!(summary.crash_crash_disks, (expected as u64).into(), "{strategy}, {depth} deep");
        assert!(summary.complete);
    }
}

/// The numbers of disks by depth. The last disk of each depth is the same one. It is checked at
/// each depth, because more crashes follow at a smaller depth.
const LEVELS: [usize; 3] = [5, 5, 5];

/// A recovery that gives up after `patience` attempts is found exactly at that depth. The trace has
/// the path, and replays.
#[test]
fn a_recovery_that_gives_up_is_found_as_deep_as_it_was_interrupted() {
    for (strategy, patience) in
        STRATEGIES.iter().flat_map(|one| [1, 2, 3].map(|patience| (one, patience)))
    {
        for depth in 0..=3 {
            let said = run(strategy, patience, depth);
            let found = said.findings();
            assert_eq!(
                found.len(),
                usize::from(depth >= u32::from(patience)),
                "{strategy}, {patience}, {depth} deep"
            );
            if let Some(found) = found.first() {
                assert_eq!((found.signature.as_str(), found.replayed), ("test/lost/journal", true));
                assert_eq!(said.traces[0].recovery.len(), usize::from(patience));
            }
        }
    }
}

/// Phase 2 is met at depth two, where nothing follows, before it is met at depth one, where phase 9
/// follows.
#[test]
fn a_disk_that_was_met_too_deep_is_checked_again() {
    for strategy in &STRATEGIES {
        let found = [1, 2].map(|depth| run(strategy, PHASES, depth).findings().len());
        assert_eq!(found, [0, 1], "{strategy}");
        let said = run(strategy, PHASES, 2);
        assert!(said.findings()[0].replayed, "{strategy}");
        let trace = &said.traces[0];
        assert_eq!((trace.recovery.len(), &*trace.message), (2, "State([9, 7, 0, 0])"));
    }
}

/// The largest depth, on a recovery that always writes, goes down to the last level on a quarter of
/// the stack of a thread. The error that only the deepest disk shows is found, and its trace
/// replays.
#[test]
fn the_largest_crash_depth_does_not_overflow_the_stack() {
    let deepest = MOST_CRASH_DEPTH;
    let patience = u8::try_from(deepest).expect("attempts are counted in a byte");
    let crashes = move || {
        run(&StrategyName::Exhaust, patience, deepest)
            .traces
            .first()
            .map(|trace| trace.recovery.len())
    };
    let thread =
        std::thread::Builder::new().stack_size(512 << 10).spawn(crashes).expect("a thread");
    assert_eq!(thread.join().expect("it ends"), Some(deepest as usize));
    let said = run(&StrategyName::Exhaust, 255, deepest);
    assert!(said.findings().is_empty() && said.summary().complete);
    assert_eq!(said.summary().crash_crash_disks, u64::from(5 * deepest).into());
}

#[test]
fn a_larger_crash_depth_is_refused() {
    let said = run(&StrategyName::Exhaust, 255, MOST_CRASH_DEPTH + 1);
    let error = said.result.expect_err("it is refused").to_string();
    assert!(error.contains(&format!("use at most {MOST_CRASH_DEPTH}")), "{error}");
}
