//! A registry of test components and checkers, and a run whose messages are kept.

#![allow(dead_code, reason = "each test binary uses its part of this")]

use std::path::Path;

use explode_ramdisk::RamDisk;
use explode_runtime::base::{Mode, Options, RunError, StepError, TargetBounds, UsageError};
use explode_runtime::check::{Checker, CheckerDef};
use explode_runtime::devices::InProcess;
use explode_runtime::explore::Strategy;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::report::{Finding, Message, Summary};
use explode_runtime::run::{Confirmation, LocalSink, explore, explore_by};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, StackSpec, Surface};
use explode_runtime::trace::{ReplayResult, Trace};
use explode_runtime::worker::replay;

/// A disk of 64 sectors.
pub fn disk() -> ComponentDef {
    ComponentDef::new("disk", "a disk for tests", |_| Ok(Box::new(Disk(None)))).modes([Mode::Mem])
}

struct Disk(Option<RamDisk>);

impl Component for Disk {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.0 = Some(RamDisk::new(below.devices.storage()?.clone(), below.first_device, 64));
        Ok(())
    }
    fn surface(&self) -> Surface {
        self.0.clone().map_or(Surface::Child, Surface::Disk)
    }
    fn facts(&self) -> Facts {
        Facts::default().devices(1)
    }
}

/// A registry with the disk and one checker.
pub fn registry(build: fn(&Options) -> Result<Box<dyn Checker>, UsageError>) -> Registry {
    let checker = CheckerDef::new("test", "a checker for tests", build);
    Registry { components: [disk()].into(), checkers: [checker].into(), ..Registry::default() }
}

/// A plan for the checker on one disk.
pub fn plan(depth: u32) -> Plan {
    let registry = Registry { components: [disk()].into(), ..Registry::default() };
    let target = Target {
        name: "test".into(),
        about: "a target for tests".into(),
        stack: StackSpec::default().plug("disk", Options::none()),
        checker: "test".into(),
        checker_options: Options::none(),
        bounds: TargetBounds { depth, limit: 10_000, samples: 2_000, crash_depth: 1 },
        seeded: false,
        expect: "clean".into(),
    };
    Plan::of(&registry, &target).expect("its component is there")
}

/// The messages, the result and the traces of a run.
pub struct Said {
    pub messages: Vec<Message>,
    pub result: Result<Summary, RunError>,
    /// Every trace that was written.
    pub traces: Vec<Trace>,
}

impl Said {
    pub fn summary(&self) -> &Summary {
        self.result.as_ref().expect("the run came to an end")
    }

    /// Returns the findings as they were first reported.
    pub fn findings(&self) -> Vec<&Finding> {
        let mut seen = Vec::new();
        let found = self.messages.iter().filter_map(|message| match message {
            Message::Finding(finding) => Some(finding),
            _ => None,
        });
        found
            .filter(|finding| {
                let new = !seen.contains(&finding.signature);
                seen.push(finding.signature.clone());
                new
            })
            .collect()
    }
}

/// Runs a plan. Each finding is replayed in this process.
pub fn run(registry: &Registry, plan: &Plan) -> Said {
    run_by(None, registry, plan)
}

/// Runs a plan with a strategy of the test; `None` uses the strategy of the plan.
pub fn run_by(strategy: Option<Box<dyn Strategy>>, registry: &Registry, plan: &Plan) -> Said {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut messages = Vec::new();
    let mut traces = Vec::new();
    let mut confirm = |path: &Path| {
        let trace = Trace::from_json(&std::fs::read(path).expect("the trace is there"))
            .expect("a sound trace");
        let outcome = replay(registry, &trace, &InProcess).expect("the replay runs");
        traces.push(trace);
        match outcome {
            ReplayResult::Reproduced { by_search: false, .. } => Confirmation::Reproduced,
            other => Confirmation::Not(format!("{other:?}")),
        }
    };
    let out = folder.path().join("run");
    let mut sink = |message: &Message| messages.push(message.clone());
    let mut sink = LocalSink::new(Some(&out), &mut confirm, &mut sink);
    let result = match strategy {
        None => explore(registry, plan, &InProcess, &mut sink),
        Some(strategy) => explore_by(strategy, registry, plan, &InProcess, &mut sink),
    };
    Said { messages, result, traces }
}
