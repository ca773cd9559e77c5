//! Scouts change nothing: whatever a run says, counts and keeps is the same with any number of them, also when they die.

mod world;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use explode_runtime::dedup::Known;
use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::Message;
use explode_runtime::run::{Confirmation, Local, Scouts, StrategyName, Supervisor};
use explode_runtime::trace::Trace;
use explode_runtime::verdict::{Death, Step};
use explode_runtime::worker::{Crew, InThread, Listener, Order, Scouted, StartError, Started, UnitEnd};

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

/// How the workers of scouts die.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dies {
    /// In every unit of which the number is a multiple of this.
    Each(u64),
    /// They cannot be started.
    AtTheStart,
    /// They are not what the run's is.
    OtherDisks,
}

/// The worker of the run takes its time, so that scouts get ahead; one of a scout may die.
struct Worker<'a> {
    thread: InThread<'a>,
    done: &'a Done,
    is_scout: bool,
    /// It is the run's, and waits for scouts that are about to be lost.
    slow: bool,
    dies: Option<Dies>,
    units: u64,
}

impl Crew for Worker<'_> {
    fn start(&mut self, keep_events: bool) -> Result<Started, StartError> {
        if self.dies == Some(Dies::AtTheStart) {
            return Err("as told".to_owned().into());
        }
        let mut started = self.thread.start(keep_events)?;
        if self.dies == Some(Dies::OtherDisks) {
            started.origin.pristine.push('0');
        }
        Ok(started)
    }

    fn know(&mut self, known: &Known) -> Result<(), Death> {
        self.thread.know(known)
    }

    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitEnd, Death> {
        assert!(!self.is_scout);
        let patience = if self.slow { Duration::from_millis(20) } else { Duration::from_micros(300) };
        let end = Instant::now() + patience;
        // Two scouts are not waited for when they are lost.
        while Instant::now() < end && self.done.lost.lock().unwrap().len() < 2 {
            std::thread::sleep(Duration::from_micros(300));
        }
        self.thread.run(order, listener)
    }

    fn run_ahead(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<Scouted, Death> {
        assert!(self.is_scout);
        self.units += 1;
        if matches!(self.dies, Some(Dies::Each(each)) if self.units.is_multiple_of(each)) {
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
fn run(registry: &Registry, plan: &Plan, count: usize, dies: Option<Dies>, done: &Done) -> Left {
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
            _ => {}
        }
        let text = serde_json::to_string(&message).unwrap();
        messages.push(text.replace(folder.path().to_str().unwrap(), ""));
    };
    let mut audience = Local::new(Some(&out), &mut confirm, &mut sink);
    let with_crew = |_over: &dyn Fn() -> bool, work: &mut dyn FnMut(&mut dyn Crew)| {
        let backend = InProcess;
        let thread = InThread::new(registry, plan, &backend);
        work(&mut Worker { thread, done, is_scout: true, slow: false, dies, units: 0 });
    };
    let lost = |why: &str| done.lost.lock().unwrap().push(why.to_owned());
    let backend = InProcess;
    let thread = InThread::new(registry, plan, &backend);
    let slow = dies.is_some_and(|dies| !matches!(dies, Dies::Each(each) if each > 1));
    let mut crew = Worker { thread, done, is_scout: false, slow, dies: None, units: 0 };
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
    /// A count of the summary.
    fn count(&self, key: &str) -> u64 {
        let summary = self.messages.last().expect("a run ends with its summary");
        let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
        summary[key].as_u64().expect("a count")
    }
}

/// Runs worlds without scouts and with some, where every check is made, and where some are skipped; returns what scouts have done.
fn same(change: impl Fn(&mut Plan), dies: Option<Dies>) -> [Done; 2] {
    let registry = world::registry();
    [false, true].map(|skip| {
        let done = Done::default();
        let mut skipped = 0;
        for (seed, merge) in (0..6).flat_map(|seed| [(seed, false), (seed, true)]) {
            let mut plan = world::plan(&registry, seed, merge);
            change(&mut plan);
            plan.settings.skip = skip;
            let alone = run(&registry, &plan, 0, None, &done);
            skipped += alone.count("equivalent");
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
    let done = same(|_| {}, Some(Dies::Each(3)));
    assert!(done.iter().all(|done| done.deaths.load(Ordering::Relaxed) > 0));
}

/// The run goes on without them, and says why.
#[test]
fn scouts_that_are_of_no_use() {
    let registry = world::registry();
    let plan = world::plan(&registry, 0, false);
    let alone = run(&registry, &plan, 0, None, &Done::default());
    assert_eq!(alone.count("states"), 73, "there is something to run ahead");
    let ways = [
        (Dies::AtTheStart, "as told"),
        (Dies::OtherDisks, "its first start made other disks than the run's: the stack is not deterministic"),
        (Dies::Each(1), "8 times in a row it died in the first unit that it ran"),
    ];
    for (dies, why) in ways {
        let done = Done::default();
        assert_eq!(run(&registry, &plan, 2, Some(dies), &done), alone);
        assert_eq!((done.made_up.load(Ordering::Relaxed), done.refused.load(Ordering::Relaxed)), (0, 0));
        let lost = done.lost.into_inner().unwrap();
        let told = [2, 3].map(|worker| format!("the run goes on without worker {worker} of 3: {why}"));
        assert!(lost.len() == 2 && told.iter().all(|told| lost.contains(told)), "{dies:?}: {lost:?}");
    }
}
