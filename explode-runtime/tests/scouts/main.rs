//! Scouts change nothing: whatever a run says, counts and keeps is the same with any number of them, also when they die.

mod world;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use explode_runtime::devices::Lab;
use explode_runtime::report::Message;
use explode_runtime::run::{
    Confirmation, Crew, Death, InThread, Known, Listener, Local, Order, Plan, Registry, Scouted, Scouts,
    StartError, Started, Step, StrategyName, Supervisor, UnitEnd,
};
use explode_runtime::trace::Trace;

/// What a run has left: its messages and its traces.
#[derive(Debug, PartialEq)]
struct Left {
    messages: Vec<String>,
    traces: BTreeMap<String, String>,
}

/// What scouts have done.
#[derive(Default)]
struct Done {
    /// Units that were run ahead, and were wanted.
    made_up: AtomicU64,
    /// Units that were wanted and had to be run again.
    refused: AtomicU64,
    deaths: AtomicU64,
    /// Why runs have gone on without some of them.
    lost: Mutex<Vec<String>>,
}

/// The worker of the run takes its time, so that scouts get ahead; one of a scout may die.
struct Worker<'a> {
    thread: InThread<'a>,
    done: &'a Done,
    is_scout: bool,
    /// It dies in every unit of which the number is a multiple of this.
    dies: Option<u64>,
    units: u64,
}

impl Crew for Worker<'_> {
    fn start(&mut self, keep_events: bool) -> Result<Started, StartError> {
        if self.is_scout && self.dies == Some(0) {
            return Err("as told".to_owned().into());
        }
        self.thread.start(keep_events)
    }

    fn know(&mut self, known: &Known) -> Result<(), Death> {
        self.thread.know(known)
    }

    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitEnd, Death> {
        assert!(!self.is_scout);
        std::thread::sleep(Duration::from_micros(300));
        self.thread.run(order, listener)
    }

    fn run_ahead(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<Scouted, Death> {
        assert!(self.is_scout);
        self.units += 1;
        if self.dies.is_some_and(|each| self.units.is_multiple_of(each)) {
            self.done.deaths.fetch_add(1, Ordering::Relaxed);
            return Err(Death {
                step: Step::Between,
                verdict: None,
                message: "as told".to_owned(),
                from_outside: false,
            });
        }
        self.thread.run_ahead(order, listener)
    }

    fn account(&mut self, scouted: Scouted, exact: Vec<bool>) -> Result<Option<UnitEnd>, Death> {
        let end = self.thread.account(scouted, exact)?;
        let count = if end.is_some() { &self.done.made_up } else { &self.done.refused };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(end)
    }

    fn lasts(&self) -> bool {
        true
    }
}

/// Runs a plan with so many scouts. Of three errors one does not reproduce.
fn run(registry: &Registry, plan: &Plan, count: usize, dies: Option<u64>, done: &Done) -> Left {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut messages = Vec::new();
    let mut confirm = |path: &Path| {
        let trace = Trace::from_json(&std::fs::read(path).unwrap()).unwrap();
        match trace.verdict.as_str() {
            "corrupt" => Confirmation::Not("as told".to_owned()),
            _ => Confirmation::Reproduced,
        }
    };
    let mut sink = |message: &Message| {
        let mut message = message.clone();
        match &mut message {
            Message::Progress(_) | Message::Run(_) => return,
            Message::Summary(summary) => summary.seconds = 0.0,
            Message::Finding(_) | Message::Broken { .. } => {}
        }
        let text = serde_json::to_string(&message).unwrap();
        messages.push(text.replace(folder.path().to_str().unwrap(), ""));
    };
    let mut audience = Local::new(Some(&out), &mut confirm, &mut sink);
    let with_crew = |_over: &dyn Fn() -> bool, work: &mut dyn FnMut(&mut dyn Crew)| {
        let lab = Lab::Mem;
        let thread = InThread::new(registry, plan, &lab);
        work(&mut Worker { thread, done, is_scout: true, dies, units: 0 });
    };
    let lost = |why: &str| done.lost.lock().unwrap().push(why.to_owned());
    let lab = Lab::Mem;
    let thread = InThread::new(registry, plan, &lab);
    let mut crew = Worker { thread, done, is_scout: false, dies: None, units: 0 };
    let mut supervisor = Supervisor::new(plan, &mut crew, &mut audience);
    supervisor.scouts = (count > 0).then_some(Scouts { count, with_crew: &with_crew, lost: &lost });
    supervisor.run().unwrap();
    let traces = std::fs::read_dir(out.join("traces")).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap())
    });
    let traces = traces.collect();
    Left { messages, traces }
}

impl Left {
    /// Checks that were skipped.
    fn equivalent(&self) -> u64 {
        let summary = self.messages.last().expect("a run ends with its summary");
        let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
        summary["equivalent"].as_u64().expect("a count")
    }
}

/// Runs worlds without scouts and with some, where every check is made, and where some are skipped; returns what scouts have done.
fn same(change: impl Fn(&mut Plan), dies: Option<u64>) -> [Done; 2] {
    let registry = world::registry();
    [false, true].map(|skip| {
        let done = Done::default();
        let mut skipped = 0;
        for (seed, merge) in (0..6).flat_map(|seed| [(seed, false), (seed, true)]) {
            let mut plan = world::plan(&registry, seed, merge);
            change(&mut plan);
            plan.settings.skip = skip;
            let alone = run(&registry, &plan, 0, None, &done);
            skipped += alone.equivalent();
            for count in [1, 3] {
                let scouted = run(&registry, &plan, count, dies, &done);
                assert_eq!(scouted, alone, "seed {seed}, merge {merge}, skip {skip}, {count} scouts");
            }
        }
        assert_eq!(skipped > 0, skip, "{skipped} checks were skipped");
        assert!(done.made_up.load(Ordering::Relaxed) > 0, "scouts were of use");
        done
    })
}

#[test]
fn breadth_first() {
    same(|_| {}, None);
}

#[test]
fn depth_first() {
    same(|plan| plan.settings.strategy = StrategyName::Dfs, None);
}

#[test]
fn crashes_during_recovery_two_and_three_deep() {
    same(|plan| (plan.settings.crash_depth, plan.settings.depth) = (2, 2), None);
    same(|plan| (plan.settings.crash_depth, plan.settings.depth) = (3, 2), None);
}

#[test]
fn none_at_all() {
    same(|plan| plan.settings.crash_depth = 0, None);
}

/// A sample differs from request to request, and so do the disks that follow a check.
#[test]
fn samples() {
    same(|plan| (plan.settings.limit, plan.settings.samples) = (3, 6), None);
}

#[test]
fn so_many_states() {
    same(|plan| plan.settings.states = Some(17), None);
}

/// Each scout keeps chopped states of its own.
#[test]
fn chops() {
    same(|plan| plan.settings.chop = Some(1), None);
    same(|plan| plan.settings.chop = Some(2), None);
}

/// What a scout has not run is run in the ordinary way.
#[test]
fn scouts_that_die() {
    let done = same(|_| {}, Some(3));
    assert!(done.iter().all(|done| done.deaths.load(Ordering::Relaxed) > 0));
}

#[test]
fn scouts_that_die_at_once() {
    let registry = world::registry();
    let (plan, done) = (world::plan(&registry, 1, true), Done::default());
    let alone = run(&registry, &plan, 0, None, &done);
    assert_eq!(run(&registry, &plan, 2, Some(1), &done), alone);
    assert_eq!((done.made_up.load(Ordering::Relaxed), done.refused.load(Ordering::Relaxed)), (0, 0));
}
