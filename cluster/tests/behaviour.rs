//! Nodes that fail, and what a run says about them.

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use explode_cluster::prelude::*;

/// What a node does wrong.
const NOTHING: u8 = 0;
const PANICS: u8 = 1;
const FAILS: u8 = 2;
const HANGS: u8 = 3;
const COUNTS_RUNS: u8 = 4;
const NEVER_ANSWERS: u8 = 5;
const FORGETS: u8 = 6;
const STARTS_THREADS: u8 = 7;

/// A register on each node. A write is on its disk before it is answered.
#[derive(Hash)]
struct Register<const WRONG: u8> {
    value: u64,
    received: BTreeMap<NodeId, u64>,
}

static RUNS: AtomicU64 = AtomicU64::new(0);

impl<const WRONG: u8> Node for Register<WRONG> {
    type Msg = u64;
    type Call = RegisterCall;
    type Reply = RegisterReply;

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let files = host.files();
        let bytes = files.read_file("/value").unwrap_or_default();
        let value = bytes.first().copied().unwrap_or_default().into();
        Ok(Register { value, received: BTreeMap::new() })
    }

    fn on_message(&mut self, from: NodeId, msg: u64, host: &mut Host<'_, Self>) -> Handled {
        self.received.insert(from, msg);
        match WRONG {
            PANICS => panic!("no place for {msg}"),
            FAILS => Err("the message is not wanted".into()),
            HANGS if msg > 1 => loop {
                std::hint::spin_loop();
            },
            COUNTS_RUNS => {
                let run = RUNS.fetch_add(1, Ordering::Relaxed);
                host.random(2 + (run % 5) as u32);
                Ok(())
            }
            STARTS_THREADS => {
                let thread = std::thread::spawn(|| RUNS.fetch_add(1, Ordering::Relaxed));
                let run = thread.join().expect("it counts");
                host.random(2 + (run % 5) as u32);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn on_call(&mut self, call: CallId, what: RegisterCall, host: &mut Host<'_, Self>) -> Handled {
        if let RegisterCall::Write(value) = what {
            self.value = value;
            let files = host.files();
            let fd = files.open("/value", OpenFlags::CREATE)?;
            files.pwrite(fd, 0, &[value as u8])?;
            if WRONG != FORGETS {
                files.fsync(fd)?;
                files.sync_dir("/")?;
            }
            files.close(fd)?;
            host.broadcast(&value)?;
        }
        let reply = match what {
            RegisterCall::Read => RegisterReply::Value(self.value),
            _ => RegisterReply::Written,
        };
        if WRONG != NEVER_ANSWERS {
            host.reply(call, reply);
        }
        Ok(())
    }
}

fn registers<const WRONG: u8>(hosts: usize) -> Cluster<Register<WRONG>> {
    cluster::<Register<WRONG>>("registers", hosts)
        .clients(1, |next| match next.choose(2) {
            0 => RegisterCall::Read,
            _ => RegisterCall::Write(next.fresh()),
        })
        .calls(4)
        .steps(40, 10)
}

fn run<const WRONG: u8>() -> common::Ran {
    common::run_with(registers::<WRONG>(2), walks(200), 1)
}

#[test]
fn a_node_that_panics_or_fails_is_a_finding() {
    assert!(run::<NOTHING>().found.is_empty());
    let panics = run::<PANICS>();
    assert!(panics.found[0].starts_with("registers/check-failed/panic "), "{panics:?}");
    assert!(panics.traces[0].message.contains("no place for 1"), "{panics:?}");
    let fails = run::<FAILS>();
    assert!(fails.found[0].starts_with("registers/check-failed/error "), "{fails:?}");
    assert!(fails.traces[0].message.contains("the message is not wanted"), "{fails:?}");
}

#[test]
fn a_node_that_is_not_deterministic_is_named() {
    let ran = run::<COUNTS_RUNS>();
    let text = ran.broken.join("\n");
    for part in ["took another path when it was run again", "at random on n", "usual causes"] {
        assert!(text.contains(part), "{part}: {ran:?}");
    }
}

/// A thread that changes nothing outside goes unnoticed. Where the calls of the C library are seen,
/// its start is.
#[test]
fn a_node_that_starts_threads_is_named() {
    let text = run::<STARTS_THREADS>().broken.join("\n");
    let part = match cfg!(feature = "std-fs") {
        true => "the node starts a thread, which explode cannot order",
        false => "took another path when it was run again",
    };
    assert!(text.contains(part), "{text}");
}

/// Two tests with clusters of one name keep their traces apart.
#[test]
fn clusters_of_one_name_have_traces_of_their_own() {
    let trace_in = |test: &'static str| {
        let run = || registers::<PANICS>(2).outcome(walks(50)).expect_err("it panics");
        let thread = std::thread::Builder::new().name(test.to_owned()).spawn(run);
        let text = thread.expect("a thread starts").join().expect("it ends");
        let path = text.lines().find_map(|line| line.trim().strip_prefix("Trace "));
        let path = path.expect("the trace is named").to_owned();
        assert!(text.contains(&format!("--exact {test}")), "{text}");
        path
    };
    let (one, other) = (trace_in("one_test"), trace_in("another_test"));
    assert_ne!(one, other);
    for path in [one, other] {
        let trace = explode_runtime::trace::Trace::read(path.as_ref()).unwrap();
        assert!(trace.test.is_some_and(|test| !test.is_empty()), "{path}");
    }
}

/// By default a run that misses something passes, with a note.
#[test]
fn what_must_be_reached_can_fail_a_test() {
    let two = |world: &View<'_, Register<NOTHING>>| world.up().count() == 2;
    let cluster = || registers::<NOTHING>(2).sometimes("both are up", two).require_complete();
    cluster().outcome(walks(50)).expect("it is reached");
    let text = cluster().sometimes("three are up", |world| world.up().count() == 3);
    let text = text.outcome(walks(50)).expect_err("there are two hosts");
    assert!(text.contains("is not complete: nothing has reached 'three are up'"), "{text}");
    let nothing = registers::<NOTHING>(2).require_complete().outcome(walks(50));
    assert!(nothing.is_err(), "random walks that are to reach nothing cover nothing");
    let limited = cluster().with(|settings| settings.deadline_ms = 20_000);
    limited.outcome(walks(50)).expect("it is reached");
}

#[test]
fn a_node_that_hangs_is_a_finding() {
    let (registry, mut plan) = registers::<HANGS>(2).test(walks(200)).expect("the plan is right");
    plan.settings.deadline_ms = 300;
    let ran = common::run_plan(&registry, &plan, 1);
    assert!(ran.found.iter().any(|found| found.starts_with("registers/hang/")), "{ran:?}");
}

/// Where nothing can happen any more, what does not hold never will. A walk that could go on proves
/// nothing, and is counted.
#[test]
fn eventually_is_a_finding_only_where_nothing_can_happen() {
    let cluster = |hosts| {
        registers::<NOTHING>(hosts).eventually("all know the same", |world| {
            world.all_up() && world.up().map(|node| node.value).all_equal()
        })
    };
    let ran = common::run_with(cluster(2), walks(200), 1);
    assert!(ran.found[0].starts_with("registers/hang/all-know-the-same"), "{ran:?}");
    let ran = common::run_with(cluster(2).steps(6, 0), walks(200), 1);
    assert!(ran.found.is_empty(), "{ran:?}");
    assert!(ran.tally("undecided", "all know the same") > 10, "{ran:?}");
}

#[test]
fn a_write_that_is_lost_is_not_linearizable() {
    let lost = FaultBudget { crashes: 1, ..FaultBudget::NONE };
    let sound = registers::<NOTHING>(1).steps(10, 2).faults(lost).linearizable::<RegisterSpec>();
    let ran = common::run_with(sound, walks(1000), 1);
    assert!(ran.found.is_empty() && ran.tally("crashes", "crashes") > 100, "{ran:?}");
    let forgets = registers::<FORGETS>(1).steps(10, 2).faults(lost).linearizable::<RegisterSpec>();
    let ran = common::run_with(forgets, walks(1000), 1);
    assert!(ran.found[0].starts_with("registers/corrupt/linearizable"), "{ran:?}");
}

/// Everything within some steps: equal states once, and the same verdicts as without that.
#[test]
fn a_small_cluster_is_explored_completely() {
    let faults = FaultBudget { crashes: 1, ..FaultBudget::NONE };
    let all = |hashed: bool| {
        let cluster = registers::<NOTHING>(1)
            .calls(2)
            .faults(faults)
            .steps(4, 0)
            .linearizable::<RegisterSpec>()
            .strategy("exhaust");
        common::run_with(if hashed { cluster.hashed() } else { cluster }, exhausted(), 1)
    };
    let (merged, plain) = (all(true), all(false));
    for ran in [&merged, &plain] {
        assert!(ran.summary.complete && ran.found.is_empty(), "{ran:?}");
    }
    assert!(merged.summary.states.0 < plain.summary.states.0, "{merged:?}\n{plain:?}");
    let forgets = registers::<FORGETS>(1)
        .faults(faults)
        .steps(5, 0)
        .linearizable::<RegisterSpec>()
        .strategy("exhaust")
        .hashed();
    let ran = common::run_with(forgets, exhausted(), 1);
    assert!(ran.found[0].starts_with("registers/corrupt/linearizable"), "{ran:?}");
}

/// A policy of a user: always the last option, but for the first few choices of a walk.
struct LastFirst {
    walk: u64,
    left: u32,
}

impl WalkAnswers for LastFirst {
    fn answer(&mut self, point: &BarePoint<'_>) -> u32 {
        if point.by_weight || self.left == 0 {
            return 0;
        }
        self.left -= 1;
        (self.walk >> self.left) as u32 % point.options
    }
}

#[test]
fn a_policy_of_a_user_walks() {
    let policy = |_, walk| LastFirst { walk, left: 8 };
    let ran = common::run_with(registers::<PANICS>(2).policy("last-first", policy), walks(50), 1);
    assert!(ran.found[0].starts_with("registers/check-failed/panic "), "{ran:?}");
}

#[test]
fn a_call_on_a_file_can_fail_and_the_node_then_crashes() {
    let faults = FaultBudget { io_errors: 1, ..FaultBudget::NONE };
    let cluster =
        registers::<NOTHING>(1).steps(10, 2).faults(faults).linearizable::<RegisterSpec>();
    let ran = common::run_with(cluster, walks(300), 1);
    assert!(ran.found.is_empty(), "{ran:?}");
    let errors = ran.tally("faults", "I/O errors");
    assert!(errors > 20 && ran.tally("crashes", "crashes") == errors, "{ran:?}");
}
