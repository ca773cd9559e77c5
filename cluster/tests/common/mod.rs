//! Runs of clusters with all messages kept.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::Path;

use explode_cluster::client::{RegisterCall, RegisterReply};
use explode_cluster::cluster::{Cluster, SearchEnd};
use explode_cluster::node::Node;
use explode_cluster::prelude::Itertools as _;
use explode_cluster::view::View;
use explode_runtime::base::ExactCount;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Message, Summary};
use explode_runtime::run::{Confirmation, Helpers, LocalSink, Supervisor};
use explode_runtime::trace::Trace;
use explode_runtime::worker::{RemoteWorkers, Workers, spawn_thread};

/// What a run has reported.
#[derive(Debug)]
pub struct Ran {
    pub summary: Summary,
    pub traces: Vec<Trace>,
    /// The signature of each finding, with its count.
    pub found: Vec<String>,
    pub broken: Vec<String>,
}

impl Ran {
    /// Returns a count of the run by its names.
    pub fn tally(&self, group: &str, name: &str) -> u64 {
        let groups = self.summary.tallies.iter().filter(|known| known.name == group);
        let mut counts = groups.flat_map(|group| &group.tallies).filter(|(known, _)| known == name);
        counts.next().map_or(0, |(_, count)| u64::try_from(&count.0).expect("it is small"))
    }

    /// Returns everything that must be equal in every run.
    pub fn counts(&self) -> String {
        let Summary { states, operations, choices, crash_disks, tallies, .. } = &self.summary;
        let found = &self.found;
        format!("{states} {operations} {choices} {crash_disks} {tallies:?} {found:?}")
    }
}

/// Runs a cluster with `jobs` workers, each in its own thread.
pub fn run_with<N: Node>(cluster: Cluster<N>, end: SearchEnd, jobs: usize) -> Ran {
    let (registry, plan) = cluster.test(end).expect("the plan is right");
    run_plan(&registry, &plan, jobs)
}

/// Runs a plan with `jobs` workers, each in its own thread.
pub fn run_plan(registry: &Registry, plan: &Plan, jobs: usize) -> Ran {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("run");
    let (mut found, mut broken, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    let mut confirm = |trace: &Path| {
        let trace = Trace::read(trace).expect("it was just written");
        let mut spawn = || spawn_thread(registry);
        let replayed = RemoteWorkers::new(&trace.plan(), &mut spawn).replay(&trace);
        match replayed {
            Ok(explode_runtime::trace::ReplayResult::Reproduced { .. }) => Confirmation::Reproduced,
            other => Confirmation::Not(format!("{other:?}")),
        }
    };
    let mut hear = |message: &Message| match message {
        Message::Finding(finding) => {
            found.retain(|known: &String| !known.starts_with(&finding.signature));
            found.push(format!("{} {}", finding.signature, finding.count));
            assert!(finding.replayed, "{finding:?}");
            paths.push(finding.trace.clone());
        }
        Message::Broken { message, .. } => broken.push(message.clone()),
        _ => {}
    };
    let mut sink = LocalSink::new(Some(&out), &mut confirm, &mut hear);
    let mut spawn = || spawn_thread(registry);
    let mut workers = RemoteWorkers::new(plan, &mut spawn);
    let with_workers = |_: &dyn Fn() -> bool, work: &mut dyn FnMut(&mut dyn Workers)| {
        let mut spawn = || spawn_thread(registry);
        work(&mut RemoteWorkers::new(plan, &mut spawn));
    };
    let lost = |why: &str| panic!("{why}");
    let mut supervisor = Supervisor::new(plan, &mut workers, &mut sink);
    supervisor.helpers =
        (jobs > 1).then_some(Helpers { count: jobs - 1, with_workers: &with_workers, lost: &lost });
    let summary = supervisor.run().expect("the run ends");
    paths.dedup();
    let traces = paths.iter().map(|path| Trace::read(Path::new(path)).expect("it is kept"));
    Ran { traces: traces.collect(), summary, found, broken }
}

/// Searches with seeds 0 to 19, each up to the first finding that breaks `promise`, and prints a
/// row of `docs/results/clusters.md`. Half of the `walks` of a run must be enough for each.
#[expect(clippy::print_stdout, reason = "it prints a row of a table")]
pub fn found_by_each_seed<N: Node>(
    name: &str,
    make: impl Fn(&str, u64) -> Cluster<N>,
    promise: &str,
    walks: u32,
) {
    let most = walks / 2;
    let of_seed = |seed| {
        let found = make(name, seed).first_finding(most, |violation| violation.promise == promise);
        let found = found.expect("the nodes are deterministic");
        found.unwrap_or_else(|| panic!("seed {seed}: not found in {most} walks")).walks
    };
    let found: Vec<u64> = (0..20).map(of_seed).sorted().collect();
    let (median, worst) = (found[found.len() / 2], found[found.len() - 1]);
    println!("| `{name}` | {median} | {worst} | {walks} |");
}

/// Returns a count.
pub fn exactly(count: u64) -> ExactCount {
    count.into()
}

/// Asks that each reply is the value of its call.
pub fn echoes<N: Node<Call = u64, Reply = u64>>(cluster: Cluster<N>) -> Cluster<N> {
    cluster.always("a reply has the setting", |world| {
        let mut calls = world.history().calls().iter();
        calls.all(|call| call.replied.is_none_or(|(_, reply)| reply == call.call))
    })
}

/// Returns the value of the last write that was acknowledged, 0 before the first one.
pub fn acknowledged<N>(world: &View<'_, N>) -> u64
where
    N: Node<Call = RegisterCall, Reply = RegisterReply>,
{
    let calls = world.history().calls().iter().filter(|call| call.replied.is_some());
    let mut written = calls.filter_map(|call| match call.call {
        RegisterCall::Write(value) => Some(value),
        RegisterCall::Read | RegisterCall::Swap(..) => None,
    });
    written.next_back().unwrap_or(0)
}
