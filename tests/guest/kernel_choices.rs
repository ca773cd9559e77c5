//! Kernel functions that fail by choice (`docs/guide/kernel-faults.md`): their sites are the same
//! in every run and every guest, each one fails when chosen, and no other task gets a choice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, io, thread};

use explode_runtime::check::CrashRequest;
use explode_runtime::choose::{Choice, ChoicePoint};
use explode_runtime::explore::{ReachedState, State, Unit};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::plan::Plan;
use explode_runtime::report::Summary;
use explode_runtime::stack::Stack;
use explode_runtime::trace::{FoundError, Trace, Witness};
use explode_runtime::unit::{Runner, UnitHooks, UnitProgress, UnitRun, UnitStop};
use explode_runtime::verdict::{CheckError, Violation};
use libc::{SCHED_FIFO, sched_param, sched_setscheduler};

use crate::cases::Cx;
use crate::report::{Line, Report};

/// The calls that fail at each of their sites, and the number of sites on ext4, ext2 and XFS.
const CALLS: [(&str, [usize; 3]); 6] = [
    ("mkdir /new-dir", [12, 14, 4]),
    ("create /new", [6, 9, 5]),
    ("write /file", [8, 6, 6]),
    ("fsync /file", [18, 11, 9]),
    ("rename /file /other", [4, 12, 2]),
    ("truncate /file", [5, 2, 5]),
];

/// The case whose sites are compared between guests.
pub const POINTS: &str = "kernel choices: the points of each call";

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    report.case(POINTS, |report| {
        for system in SYSTEMS {
            let plan = failing(cx, system, "all", 1);
            let runner = start(cx, &plan);
            for (call, _) in CALLS {
                let points =
                    points(&runner, call).iter().map(|choice| choice.label.to_string()).collect();
                report.say(&Line::Points(format!("{system}: {call}"), points));
            }
        }
    });
    for (at, system) in SYSTEMS.into_iter().enumerate() {
        for (call, expected) in CALLS {
            let expected = expected[at];
            let name = format!(
                "kernel choices: {system}: {call}: each of {expected} points fails, and again"
            );
            report.case(&name, |report| each_fails(cx, report, system, call, expected));
        }
    }
    report.case("kernel choices: another task gets no choice", |_| neighbour(cx));
    report
        .case("kernel choices: functions that must not fail get no choice", |_| must_not_fail(cx));
    report
        .case("kernel choices: another path diverges, and the report says where", |_| diverges(cx));
    report.case(
        "kernel choices: ext2+rename-in-steps is found with them, and only with them",
        |_| canary(cx),
    );
    report.case(
        "kernel choices: xfs shuts itself down, and keeps what was synced, but on a disk that \
         does not flush",
        |_| shut_down(cx),
    );
    for (system, kinds, counts, signatures) in FOUND {
        let name = format!("kernel choices: {system}, {kinds}: the findings of the page are found");
        report.case(&name, |_| {
            let (summary, findings) = cx.explore(&failing(cx, system, kinds, 1));
            let Summary { states, operations, choices, .. } = &summary;
            let counted =
                [states, operations, choices].map(|count| u64::try_from(&count.0).unwrap());
            assert_eq!((counted, summary.complete), (counts, true), "{summary:?}");
            assert!(findings.iter().all(|finding| finding.replayed), "{findings:?}");
            let found: BTreeSet<&str> = findings
                .iter()
                .map(|finding| {
                    finding.signature.strip_prefix("fs-failures/corrupt/").expect("a difference")
                })
                .collect();
            assert_eq!(found, signatures.iter().copied().collect());
        });
    }
}

/// The results of `fs-failures` with one failure on a path: the file system, the kinds, the states,
/// operations and choices, and the broken promises.
const FOUND: [(&str, &str, [u64; 3], &[&str]); 5] = [
    (
        "ext4",
        "slab",
        [65, 66, 415],
        &["failed-create-has-no-effect", "fsync-has-its-effect-on-disk"],
    ),
    ("ext2", "slab", [59, 58, 291], &[]),
    (
        "ext2",
        "request",
        [18, 29, 91],
        &[
            "failed-create-has-no-effect",
            "failed-link-has-no-effect",
            "failed-mkdir-has-no-effect",
            "failed-rename-has-no-effect",
            "failed-rmdir-has-no-effect",
            "failed-unlink-has-no-effect",
        ],
    ),
    ("xfs", "slab", [41, 40, 152], &[]),
    ("xfs", "request", [13, 12, 21], &[]),
];

const SYSTEMS: [&str; 3] = ["ext4", "ext2", "xfs"];

/// Returns the plan of the checker of failures on this file system, where functions of these kinds
/// may fail, `most` on a path.
fn failing(cx: Cx<'_>, system: &str, kinds: &str, most: u32) -> Plan {
    let mut plan = cx.plan(&format!("fs-failures-{system}"));
    let layer = &mut plan.stack.0[1];
    layer.options = layer.options.clone().with("fail", kinds).with("most_failures", most);
    plan
}

pub fn start<'a>(cx: Cx<'a>, plan: &'a Plan) -> Runner<'a> {
    Runner::start(cx.registry, plan, cx.backend).expect("the stack starts")
}

/// Returns the kernel's choices in this call without a failure.
fn points(runner: &Runner<'_>, call: &str) -> Vec<Choice> {
    let ended = go(runner, call, &[]);
    assert!(ended.early.is_none(), "{call}: {:?}", ended.early);
    assert!(
        ended.choices[1..].iter().all(|choice| choice.kind.is_of_kernel() && choice.value == 1)
    );
    ended.choices[1..].to_vec()
}

/// Makes the call with the first answers from a script.
pub fn go(runner: &Runner<'_>, call: &str, script: &[Choice]) -> UnitRun {
    let unit = Unit::one(State::default(), script.to_vec());
    runner.run(&unit, &mut Make { call })
}

/// Returns the answers by which the call fails at its point number `index` and nowhere before.
fn failure(runner: &Runner<'_>, call: &str, index: usize) -> Vec<Choice> {
    let mut script = go(runner, call, &[]).choices;
    script.truncate(index + 2);
    let last = script.pop().expect("there is such a point");
    script.push(Choice { value: 0, ..last });
    script
}

fn each_fails(cx: Cx<'_>, report: &mut Report, system: &str, call: &str, expected: usize) {
    let plan = failing(cx, system, "all", 1);
    let runner = start(cx, &plan);
    let points = points(&runner, call);
    assert_eq!(points.len(), expected, "{points:#?}");
    let mut kept = BTreeSet::new();
    for (index, point) in points.iter().enumerate() {
        let script = failure(&runner, call, index);
        let once = go(&runner, call, &script);
        // One failure is allowed on a path, so no choice follows it.
        let fails = once.choices.last().expect("something is chosen");
        assert_eq!((once.choices.len(), fails.value), (index + 2, 0), "{:#?}", once.choices);
        assert_eq!(fails.label, point.label);
        assert!(fails.name.as_ref().is_some_and(|name| name.starts_with("fail: ")), "{fails:?}");
        let again = go(&runner, call, &once.choices);
        assert_eq!(again.choices, once.choices);
        assert_eq!(format!("{:?}", again.early), format!("{:?}", once.early));
        match once.early {
            None | Some(UnitStop::Stopped) => {}
            Some(UnitStop::Violated(violation, place)) => {
                // One error of each file system is replayed in a fresh guest.
                if violation.promise != "failed-create-has-no-effect" || !kept.insert(system) {
                    continue;
                }
                let name = format!("kernel choices: {system}, create");
                let way = Witness { choices: once.choices, place, ..Witness::default() };
                report.say(&Line::Trace(name, trace(&runner, &plan, violation, way)));
            }
            Some(other) => panic!("{call}, point {index}: {other:?}"),
        }
    }
}

fn trace(runner: &Runner<'_>, plan: &Plan, violation: Violation, way: Witness) -> String {
    let error = FoundError { violation, by_design: None, died: None, way };
    Trace::of(plan, runner.origin(), &error).to_json()
}

/// A thread that makes calls on files as fast as it can, with a higher priority than the checked
/// system (EX-16). It ends when this is dropped. If it stayed after a failed case, it would consume
/// the kernel's random numbers of all later cases.
struct Neighbour {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Neighbour {
    fn start() -> Neighbour {
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let thread = thread::spawn({
            let (stop, rounds) = (Arc::clone(&stop), Arc::clone(&rounds));
            move || {
                let first = sched_param { sched_priority: 3 };
                // SAFETY: the kernel reads one sched_param.
                assert_eq!(unsafe { sched_setscheduler(0, SCHED_FIFO, &raw const first) }, 0);
                while !stop.load(Ordering::Relaxed) {
                    disturb().expect("/tmp is there");
                    rounds.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_micros(50));
                }
            }
        });
        Neighbour { stop, rounds, thread: Some(thread) }
    }

    /// Returns the number of times that it has made its calls.
    fn rounds(&self) -> u64 {
        assert!(
            self.thread.as_ref().is_some_and(|thread| !thread.is_finished()),
            "the neighbour has ended"
        );
        self.rounds.load(Ordering::Relaxed)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The thread has printed the reason of a panic.
        self.thread.take().map(thread::JoinHandle::join);
    }
}

/// The number of times that a neighbour disturbs each call. On a busy host its timer is late, so
/// the call is repeated until it was disturbed that often.
const DISTURBED: u64 = 20;

fn neighbour(cx: Cx<'_>) {
    let plan = failing(cx, "ext4", "all", 1);
    let runner = start(cx, &plan);
    let quiet: Vec<Vec<Choice>> = CALLS.iter().map(|(call, _)| points(&runner, call)).collect();
    let neighbour = Neighbour::start();
    for (quiet, (call, _)) in quiet.iter().zip(CALLS) {
        let (before, mut times) = (neighbour.rounds(), 0);
        while times < 5 || neighbour.rounds() < before + DISTURBED {
            assert_eq!(points(&runner, call), *quiet, "{call}");
            times += 1;
        }
    }
}

fn disturb() -> io::Result<()> {
    fs::create_dir("/tmp/neighbour")?;
    fs::write("/tmp/neighbour/file", [7; 5000])?;
    fs::rename("/tmp/neighbour/file", "/tmp/neighbour/other")?;
    fs::remove_dir_all("/tmp/neighbour")
}

/// jbd2 allocates a journal head. If that fails, it allocates again in a way that cannot fail
/// (EX-15). That is no choice point.
fn must_not_fail(cx: Cx<'_>) {
    let plan = failing(cx, "ext4", "slab", 2);
    let runner = start(cx, &plan);
    let (call, _) = CALLS[0];
    let points = points(&runner, call);
    let index =
        points.iter().position(|choice| choice.label.site == "slab jbd2_journal_add_journal_head");
    let script = failure(&runner, call, index.expect("a new block is journalled"));
    let ended = go(&runner, call, &script);
    assert!(ended.early.is_none(), "the call succeeds: {:?}", ended.early);
    let heads = |choices: &[Choice]| {
        choices.iter().filter(|choice| choice.label.site.contains("journal_head")).count()
    };
    assert_eq!(heads(&ended.choices), heads(&points));
}

/// The script has another site or another kind than the kernel's choice.
fn diverges(cx: Cx<'_>) {
    let plan = failing(cx, "ext4", "slab,copy", 1);
    let runner = start(cx, &plan);
    let script = go(&runner, "write /file", &[]).choices;
    let change = |change: &dyn Fn(&mut Choice)| {
        let mut script = script.clone();
        change(&mut script[1]);
        match go(&runner, "write /file", &script).early {
            Some(UnitStop::Diverged(divergence)) => divergence.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let said = change(&|choice| choice.label.site = "slab elsewhere".to_owned());
    let here = &script[1].label;
    let stack = here.stack.expect("the kernel says under which stack");
    assert_eq!(
        said,
        format!(
            "choice 1: recorded 2 options at slab elsewhere under {stack:016x}, now 2 \
             options at {here}"
        )
    );
    let said = change(&|choice| choice.kind = script[3].kind);
    assert!(said.ends_with("(kind copy-failure, now slab-failure)"), "{said}");
}

/// A rename in steps has an effect when a later step fails. A rename in one step has none. Without
/// failures there is no error.
fn canary(cx: Cx<'_>) {
    let explore = |fail: &str, steps: bool| {
        let mut plan = cx.plan("ext2+rename-in-steps");
        let [_, ext2, rename] = &mut plan.stack.0[..] else { panic!("three layers") };
        ext2.options = ext2.options.clone().with("fail", fail);
        rename.options = rename.options.clone().with("steps", steps);
        cx.explore(&plan)
    };
    let (summary, findings) = explore("slab", true);
    let signature = "fs-failures/corrupt/failed-rename-has-no-effect";
    assert!(findings.iter().all(|finding| finding.signature == signature), "{findings:?}");
    // The two names of the link and the name of the last unlink are copied. Without memory for one
    // of these the rename fails half-way.
    let last = findings.last().expect("it is found");
    assert!(last.replayed && last.count == 3.into() && summary.complete, "{last:?}");
    for (fail, steps) in [("none", true), ("slab", false)] {
        let (summary, findings) = explore(fail, steps);
        assert!(findings.is_empty() && summary.complete, "{fail}, {steps}: {findings:?}");
    }
}

/// A log that cannot be written ends everything except data that was synced before, even on a disk
/// that ignores flushes.
fn shut_down(cx: Cx<'_>) {
    let explore = |flushes: &str| {
        let mut plan = failing(cx, "xfs", "request", 1);
        let disk = &mut plan.stack.0[0];
        disk.options = disk.options.clone().with("flushes", flushes);
        cx.explore(&plan)
    };
    let (summary, findings) = explore("kept");
    assert!(findings.is_empty() && summary.complete, "{findings:?}");
    // One disk after each of the nine calls, and the crash disks after the file system has shut
    // down.
    assert_eq!(summary.crash_disks, 17.into());
    let (_, findings) = explore("dropped");
    let found: Vec<_> =
        findings.iter().map(|found| (found.signature.as_str(), found.replayed)).collect();
    assert_eq!(found, [("fs-failures/lost/synced-by-sync", true)]);
}

/// Makes one call and checks no crash.
pub struct Make<'a> {
    pub call: &'a str,
}

impl UnitHooks for Make<'_> {
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let at = point.names.iter().position(|name| name == self.call);
        at.unwrap_or_else(|| panic!("no call '{}' in {:?}", self.call, point.names)) as u32
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        ask: &CrashRequest<'_>,
        _so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        Ok(pipeline.skip(stack.devices(), ask.when)?)
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        true
    }
}
