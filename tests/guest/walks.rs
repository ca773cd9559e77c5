//! Random walks on a kernel: they draw each kind of choice within the stack's budget, and replay
//! (`docs/reference/strategies.md`).

use std::collections::BTreeMap;

use explode_runtime::choose::{Answers, ChoiceKind, ChoicePoint, Policies};
use explode_runtime::explore::{
    FinishedUnit, Novelty, ReachedState, State, Strategy as _, Unit, Walks,
};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::plan::Plan;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::unit::{Runner, UnitHooks, UnitProgress, UnitRun, UnitStop};
use explode_runtime::verdict::CheckError;

use crate::cases::Cx;
use crate::kernel_sites::{MODULE, counter, run, with_choosy};
use crate::report::Report;

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    report.case(
        "walks draw failures, threads and late writes of ext4, and each walk replays",
        |_| on_ext4(cx),
    );
    report.case(
        "walks draw failures on the way to the disk of ext2 and XFS, and each walk replays",
        |_| {
            cold(cx);
            requests(cx);
        },
    );
    report.case(
        "walks draw what a module asks and a function that is named, and each walk replays",
        |_| {
            run("insmod", MODULE);
            of_a_module(cx);
            run("rmmod", "choosy");
        },
    );
    report.case("walks of fs-failures-ext4 find what exhaust finds", |_| same_findings(cx));
}

/// Functions that fail, a commit between two calls, and writes that end late.
fn on_ext4(cx: Cx<'_>) {
    let mut plan = cx.plan("fs-failures-ext4");
    let [disk, system] = &mut plan.stack.0[..] else { panic!("{:?}", plan.stack) };
    disk.options = disk.options.clone().with("completes", "choice");
    system.options = system.options.clone().with("fail", "all").with("between", "commit");
    // A function or a write, and a thread.
    let kinds = [
        ChoiceKind::CopyFailure,
        ChoiceKind::LateCompletion,
        ChoiceKind::PageFailure,
        ChoiceKind::SlabFailure,
        ChoiceKind::Thread,
    ];
    draw(cx, &plan, Walks::uniform(3, 1), 60, 2, &kinds);
}

/// The second call finds empty caches.
fn cold(cx: Cx<'_>) {
    let mut plan = cx.plan("fs-failures-ext2");
    plan.settings.chop = Some(1);
    let system = &mut plan.stack.0[1];
    system.options = system.options.clone().with("fail", "buffer,cache");
    draw(
        cx,
        &plan,
        Walks::uniform(3, 2),
        20,
        1,
        &[ChoiceKind::BufferFailure, ChoiceKind::CacheFailure],
    );
}

fn requests(cx: Cx<'_>) {
    let mut plan = cx.plan("fs-failures-xfs");
    let system = &mut plan.stack.0[1];
    system.options = system.options.clone().with("fail", "request");
    draw(cx, &plan, Walks::uniform(3, 1), 12, 1, &[ChoiceKind::RequestFailure]);
}

fn of_a_module(cx: Cx<'_>) {
    let registry = with_choosy();
    let cx = Cx { registry: &registry, ..cx };
    let mut plan = counter(cx, "module", false);
    let module = &mut plan.stack.0[0];
    module.options = module.options.clone().with("probe", "choosy_write:-EIO:unlisted");
    draw(
        cx,
        &plan,
        Walks::weighted(3, 2),
        20,
        1,
        &[ChoiceKind::ModuleChoice, ChoiceKind::ProbeFailure],
    );
}

/// Runs walks with at most `most` faults each, and runs each path with a fault again. All kinds of
/// faults that occur must be drawn, and these must be among them.
fn draw(
    cx: Cx<'_>,
    plan: &Plan,
    mut walks: Walks,
    count: u32,
    most: usize,
    expected: &[ChoiceKind],
) {
    let runner = Runner::start(cx.registry, plan, cx.backend).expect("the stack starts");
    let (mut met, mut drawn) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..count {
        let unit = walks.next().expect("walks never end");
        let ended = go(&runner, &unit);
        let faults: Vec<_> = ended
            .choices
            .iter()
            .filter(|choice| choice.kind.is_fault() && choice.rank() > 0)
            .collect();
        assert!(faults.len() <= most, "{faults:#?}");
        if !faults.is_empty() {
            let way = Unit::one(State::default(), ended.choices.clone());
            let again = go(&runner, &Unit { mutates: unit.state.depth + unit.mutates, ..way });
            assert_eq!(again.choices, ended.choices);
        }
        for choice in ended.choices.iter().filter(|choice| choice.kind.is_fault()) {
            *met.entry(choice.kind.to_string()).or_insert(0) += 1;
        }
        faults.iter().for_each(|choice| *drawn.entry(choice.kind.to_string()).or_insert(0) += 1);
        let (choices, reached) = (&ended.choices, Novelty::New);
        walks.observe(&FinishedUnit { unit: &unit, choices, arrivals: &[], reached });
    }
    let kinds = |times: &BTreeMap<String, u32>| times.keys().cloned().collect::<Vec<_>>();
    assert_eq!(kinds(&drawn), kinds(&met), "drawn {drawn:?}, met {met:?}");
    assert!(expected.iter().all(|kind| drawn.contains_key(&kind.to_string())), "{drawn:?}");
}

fn go(runner: &Runner<'_>, unit: &Unit) -> UnitRun {
    let answers = Policies::default().answers(&unit.policy).expect("the engine has it");
    let ended = runner.run(unit, &mut Walk(answers));
    assert!(
        !matches!(ended.early, Some(UnitStop::Diverged(_) | UnitStop::Broken(_))),
        "{:?}",
        ended.early
    );
    ended
}

/// Answers by a policy, and checks no disk.
struct Walk(Box<dyn Answers>);

impl UnitHooks for Walk {
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.0.answer(point)
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        ask: &explode_runtime::check::CrashRequest<'_>,
        _so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        Ok(pipeline.skip(stack.devices(), ask.when)?)
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        true
    }
}

/// Compares the findings of each random strategy with those of `explode run`.
fn same_findings(cx: Cx<'_>) {
    let found = |strategy: StrategyName, states: Option<u64>| {
        let mut plan = cx.plan("fs-failures-ext4");
        (plan.settings.strategy, plan.settings.states) = (strategy, states);
        let (_, findings) = cx.explore(&plan);
        assert!(findings.iter().all(|found| found.replayed), "{findings:?}");
        let mut signatures: Vec<String> =
            findings.into_iter().map(|found| found.signature).collect();
        signatures.sort();
        signatures.dedup();
        signatures
    };
    let expected = [
        "fs-failures/corrupt/failed-create-has-no-effect",
        "fs-failures/corrupt/fsync-has-its-effect-on-disk",
    ];
    for strategy in
        [StrategyName::Random, StrategyName::Weighted, StrategyName::Pct { d: 2, k: 10 }]
    {
        assert_eq!(found(strategy.clone(), Some(STATES)), expected, "{strategy}");
    }
    assert_eq!(found(StrategyName::Exhaust, None), expected);
}

/// With this seed, walks of this many states have found both.
const STATES: u64 = 64;
