//! Random walks with more workers. Each of them runs units, and the results of the run do not
//! change.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use explode_runtime::dedup::KnownChecks;
use explode_runtime::explore::UnitId;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Message, Summary};
use explode_runtime::run::{Confirmation, Helpers, LocalSink, StrategyName, Supervisor};
use explode_runtime::verdict::WorkerDeath;
use explode_runtime::worker::{
    RemoteWorkers, StartError, UnitListener, UnitOrder, UnitResult, WorkerStarted, Workers,
    spawn_thread,
};

use crate::common;
use crate::own::nothing;

/// A time longer than a unit takes, also on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);

/// The units that the supervisor's worker and the other workers have run.
#[derive(Default)]
struct Units {
    ran: Mutex<[Vec<UnitId>; 2]>,
    changed: Condvar,
}

/// Workers whose units are recorded.
struct Recorded<'a> {
    workers: RemoteWorkers<'a>,
    units: &'a Units,
    /// The index of the worker's units: 0 for the supervisor's worker.
    number: usize,
    /// True if its second unit waits until another worker has run one.
    waits: bool,
}

impl Workers for Recorded<'_> {
    fn start(&mut self, keep_events: bool) -> Result<WorkerStarted, StartError> {
        self.workers.start(keep_events)
    }

    fn learn(&mut self, known: &KnownChecks) -> Result<(), WorkerDeath> {
        self.workers.learn(known)
    }

    fn run(
        &mut self,
        order: &UnitOrder,
        listener: &mut dyn UnitListener,
    ) -> Result<UnitResult, WorkerDeath> {
        let result = self.workers.run(order, listener)?;
        let mut ran = self.units.ran.lock().unwrap();
        ran[self.number].push(order.unit.id());
        self.units.changed.notify_all();
        if self.waits && ran[self.number].len() == 2 {
            let alone = |ran: &mut [Vec<UnitId>; 2]| ran[1].is_empty();
            let (_ran, waited) =
                self.units.changed.wait_timeout_while(ran, DEADLINE, alone).unwrap();
            assert!(!waited.timed_out(), "the supervisor's worker is the only one that runs units");
        }
        Ok(result)
    }

    fn yield_machine(&mut self) -> bool {
        self.workers.yield_machine()
    }
}

/// Returns the summary of a run with one or two workers, and the units that they have run.
fn run(registry: &Registry, plan: &Plan, jobs: usize) -> (Summary, [Vec<UnitId>; 2]) {
    let units = Units::default();
    let mut confirm = |_: &std::path::Path| Confirmation::Reproduced;
    let mut sink = |_: &Message| {};
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("run");
    let mut sink = LocalSink::new(Some(&out), &mut confirm, &mut sink);
    let mut spawn = || spawn_thread(registry);
    let workers = RemoteWorkers::new(plan, &mut spawn);
    let mut workers = Recorded { workers, units: &units, number: 0, waits: jobs > 1 };
    let with_workers = |_: &dyn Fn() -> bool, work: &mut dyn FnMut(&mut dyn Workers)| {
        let mut spawn = || spawn_thread(registry);
        let workers = RemoteWorkers::new(plan, &mut spawn);
        work(&mut Recorded { workers, units: &units, number: 1, waits: false });
    };
    let lost = |why: &str| panic!("{why}");
    let mut supervisor = Supervisor::new(plan, &mut workers, &mut sink);
    if jobs > 1 {
        supervisor.helpers =
            Some(Helpers { count: jobs - 1, with_workers: &with_workers, lost: &lost });
    }
    let summary = supervisor.run().expect("the run ends");
    let ran = units.ran.lock().unwrap().clone();
    (Summary { seconds: 0.0, ..summary }, ran)
}

#[test]
fn two_workers_share_the_walks() {
    let registry = common::registry(nothing);
    for strategy in
        [StrategyName::Random, StrategyName::Weighted, StrategyName::Pct { d: 3, k: 100 }]
    {
        let mut plan = common::plan(5);
        (plan.settings.strategy, plan.settings.states) = (strategy.clone(), Some(200));
        let (whole, [units, none]) = run(&registry, &plan, 1);
        assert!(units.len() > 30 && none.is_empty(), "{strategy:?}: {} units", units.len());
        let (summary, [own, others]) = run(&registry, &plan, 2);
        assert_eq!(format!("{summary:?}"), format!("{whole:?}"), "{strategy:?}");
        // Both have a part, all units are run, and none is run twice, also not one run ahead.
        assert!(!own.is_empty() && !others.is_empty(), "{strategy:?}");
        let ran: BTreeSet<UnitId> = own.iter().chain(&others).copied().collect();
        assert_eq!(ran.len(), own.len() + others.len(), "{strategy:?}: a unit was run twice");
        assert!(units.iter().all(|unit| ran.contains(unit)), "{strategy:?}: a unit is missing");
    }
}
