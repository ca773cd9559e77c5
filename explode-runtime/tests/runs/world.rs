//! A world of two hosts as a system. Each host has its own disks, log and fence. Choices name their
//! host. Findings replay, and the results of several workers merge to those of one worker.

use std::collections::BTreeSet;

use explode_ramdisk::{Event, Flags, Image, Payload, RamDisk, Recording};
use explode_runtime::base::{OptionDef, Options, RunError, StepError};
use explode_runtime::check::{Checker, CheckerDef, CrashRequest, Cx};
use explode_runtime::choose::{Choice, ChoiceKind, ChoicePoint, Chooser, Label};
use explode_runtime::crash::{Epoch, Instants};
use explode_runtime::devices::{Backend, HostId, InProcess, Side};
use explode_runtime::explain::minimise::{MinimiseResult, minimise};
use explode_runtime::explain::{SearchBounds, StoryCommands, story};
use explode_runtime::explore::{ReachedState, Unit};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Line, Summary};
use explode_runtime::run::{Confirmation, Helpers, LocalSink, Supervisor};
use explode_runtime::stack::Stack;
use explode_runtime::trace::{Position, Trace};
use explode_runtime::unit::{
    Runner, System, SystemFacts, Systems, UnitHooks, UnitProgress, UnitRun, UnitStop,
};
use explode_runtime::verdict::{CheckError, Verdict, Violation, WorkerStep};
use explode_runtime::worker::{RemoteWorkers, Workers, spawn_thread};

use crate::common::{self, Said};

const BLOCK: usize = 4096;
const HOSTS: [HostId; 2] = [HostId(0), HostId(1)];

/// The actions of a host.
const ACTIONS: [&str; 3] = ["write", "sync", "crash"];

const OPTIONS: &[OptionDef] =
    &[OptionDef { name: "syncs", about: "both, first (host 1 forgets: the bug)", default: "both" }];

/// A checker for a host's promise: the value that it synced last must be on its disk.
struct Registers;

impl Checker for Registers {
    fn mutate(&mut self, _cx: &mut Cx<'_>) -> Result<(), CheckError> {
        Err(CheckError::broken("one stack is not a world"))
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let value = read(&stack.disk()?);
        let promised: u8 = args[1].parse().expect("a number");
        if value >= promised {
            return Ok(());
        }
        let message = format!("{} promised {promised}, and has {value}", args[0]);
        Err(Violation::new(Verdict::Lost, "value", message).into())
    }
}

fn read(disk: &RamDisk) -> u8 {
    let mut bytes = [0; BLOCK];
    disk.read(0, &mut bytes);
    bytes[0]
}

/// Two hosts with one register each, on one disk each.
struct World<'a> {
    registry: &'a Registry,
    plan: Plan,
    backend: &'a dyn Backend,
    /// The runner whose pristine disk both hosts start from.
    host: Runner<'a>,
    syncs: usize,
    keeps_events: bool,
}

/// A running host.
struct Host<'a> {
    id: HostId,
    stack: Stack,
    pipeline: CrashPipeline<'a>,
    promised: u8,
}

/// A run of a unit.
struct Run<'s, 'w> {
    world: &'s World<'s>,
    unit: &'s Unit,
    work: &'w mut dyn UnitHooks,
    chooser: Chooser,
    place: Position,
    operations: u64,
}

impl Host<'_> {
    /// Ends the host. Only flushed writes are left. The log of the other host continues.
    fn crash(&mut self) -> Result<Image, StepError> {
        let durable = self.pipeline.durable(self.stack.devices())?;
        self.stack.devices().fence();
        Ok(durable)
    }
}

fn broken(fault: StepError) -> UnitStop {
    UnitStop::Broken(fault.into())
}

impl World<'_> {
    /// Starts a host on the contents of its disk.
    fn start(&self, id: HostId, image: Image) -> Result<Host<'_>, StepError> {
        let World { registry, plan, backend, .. } = self;
        let rules = plan.settings.rules;
        let devices = backend.disks(id, Side::Live, image.clone(), Recording::On, 0);
        let built = Stack::build(&plan.stack, &registry.components, devices, rules, 0);
        let mut stack = built.map_err(StepError::new)?;
        stack.set_host(id);
        stack.start()?;
        let mut pipeline =
            CrashPipeline::new(self.host.blueprint(), plan, *backend, image).of_host(id);
        if self.keeps_events {
            pipeline.keep_events();
        }
        let promised = read(&stack.disk()?);
        Ok(Host { id, stack, pipeline, promised })
    }
}

impl System for World<'_> {
    fn run(&self, unit: &Unit, work: &mut dyn UnitHooks) -> UnitRun {
        let script = unit.state.choices.iter().chain(&unit.script).cloned().collect();
        let (chooser, place) = (Chooser::new(script), Position::default());
        let mut run = Run { world: self, unit, work, chooser, place, operations: 0 };
        let mut hosts = Vec::new();
        let early = run.go(&mut hosts).err();
        if early.is_none() {
            run.chooser.finish();
        }
        let diverged = run.chooser.diverged().cloned();
        let early = diverged.map(|divergence| UnitStop::Diverged(Box::new(divergence))).or(early);
        let events = hosts.into_iter().flat_map(|host| host.pipeline.into_events()).collect();
        UnitRun { choices: run.chooser.made().to_vec(), operations: run.operations, early, events }
    }

    fn facts(&self) -> SystemFacts<'_> {
        self.host.facts()
    }

    fn keep_events(&mut self) {
        self.keeps_events = true;
    }

    fn chop_at(&mut self, mutates: &[u32]) {
        assert!(mutates.is_empty(), "this world has no chops");
    }
}

impl<'s> Run<'s, '_> {
    fn go(&mut self, hosts: &mut Vec<Host<'s>>) -> Result<(), UnitStop> {
        for id in HOSTS {
            hosts.push(self.world.start(id, self.world.host.pristine().clone()).map_err(broken)?);
        }
        let known = self.unit.state.depth;
        if known == 0 {
            self.reached(0)?;
        }
        for depth in 0..known + self.unit.mutates {
            self.mutate(hosts, depth)?;
            if depth >= known {
                self.reached(depth + 1)?;
            }
        }
        Ok(())
    }

    fn mutate(&mut self, hosts: &mut [Host<'s>], depth: u32) -> Result<(), UnitStop> {
        let explored = depth >= self.unit.state.depth;
        self.place.mutates = depth + 1;
        self.operations += u64::from(explored);
        let step =
            WorkerStep::Mutate { mutates: self.place.mutates, interval: self.place.interval };
        let so_far = UnitProgress {
            choices: self.chooser.made(),
            operations: self.operations,
            place: self.place,
        };
        self.work.before(step, &so_far);
        self.act(hosts).map_err(broken)?;
        // Either host may crash now, without the other.
        for host in hosts {
            let args = [host.id.to_string(), host.promised.to_string()];
            let ask = CrashRequest {
                checker: &Registers,
                when: Instants::Now,
                begin: &args,
                args: &args,
                at: None,
            };
            let so_far = UnitProgress {
                choices: self.chooser.made(),
                operations: self.operations,
                place: self.place,
            };
            self.place.interval += 1;
            let checked = match explored {
                true => self.work.crashes(&mut host.pipeline, &host.stack, &ask, &so_far),
                false => host
                    .pipeline
                    .skip(host.stack.devices(), Instants::Now)
                    .map_err(CheckError::from),
            };
            match checked {
                Ok(()) => {}
                Err(CheckError::Broken(why)) => return Err(UnitStop::Broken(why)),
                Err(_) => return Err(UnitStop::Stopped),
            }
        }
        Ok(())
    }

    /// One host writes, syncs, or crashes and starts again.
    fn act(&mut self, hosts: &mut [Host<'s>]) -> Result<(), StepError> {
        let schedule = ChoicePoint {
            kind: ChoiceKind::Schedule,
            ..ChoicePoint::action(2, Label::named("acts"))
        };
        let host = &mut hosts[self.choose(&schedule) as usize];
        let action = ChoicePoint::action(ACTIONS.len() as u32, Label::named("does").on(host.id));
        let disk = host.stack.disk()?;
        match ACTIONS[self.choose(&action) as usize] {
            "write" => disk.write(0, &[read(&disk) + 1; BLOCK], Flags::NONE),
            "sync" => {
                if (host.id.0 as usize) < self.world.syncs {
                    disk.flush();
                }
                host.promised = read(&disk);
            }
            _ => {
                *host = self.world.start(host.id, host.crash()?)?;
                // A write of the stack that has crashed does not reach the disk.
                disk.write(0, &[u8::MAX; BLOCK], Flags::FUA);
            }
        }
        Ok(())
    }

    fn choose(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.chooser.choose(point, &mut |point| self.work.fallback(point))
    }

    fn reached(&mut self, depth: u32) -> Result<(), UnitStop> {
        let signature = self.chooser.hash() ^ u128::from(depth);
        let choices = self.chooser.made().len() as u64;
        let arrival = ReachedState { signature, depth, choices, sketch: None, topology: None };
        let more = depth < self.unit.state.depth + self.unit.mutates;
        if self.work.reached(arrival, None, more) || !more {
            Ok(())
        } else {
            Err(UnitStop::Stopped)
        }
    }
}

fn world<'a>(
    registry: &'a Registry,
    plan: &Plan,
    backend: &'a dyn Backend,
) -> Result<World<'a>, RunError> {
    let syncs = plan.checker_options.one_of("syncs", &[("both", 2), ("first", 1)])?;
    let host = Runner::start(registry, plan, backend)?;
    Ok(World { registry, plan: plan.clone(), backend, host, syncs, keeps_events: false })
}

fn open<'a>(
    registry: &'a Registry,
    plan: &Plan,
    backend: &'a dyn Backend,
) -> Result<Box<dyn System + 'a>, RunError> {
    Ok(Box::new(world(registry, plan, backend)?))
}

fn registry() -> Registry {
    let def = CheckerDef::new("registers", "a register on each of two hosts", |_| {
        Ok(Box::new(Registers))
    });
    let mut registry = Registry {
        checkers: [def.options(OPTIONS)].into(),
        ..common::registry(|_| Ok(Box::new(Registers)))
    };
    let mut systems = Systems::default();
    systems.register("registers", open);
    registry.extensions.insert(systems);
    registry
}

fn plan(depth: u32, syncs: &str) -> Plan {
    let mut plan = common::plan(depth);
    plan.checker = "registers".into();
    plan.checker_options = Options::none().with("syncs", syncs);
    plan
}

fn run(depth: u32, syncs: &str) -> Said {
    common::run(&registry(), &plan(depth, syncs))
}

/// Returns the number of disks that crashes of both hosts can leave, after each step of every run.
/// Each write that is not flushed is kept or lost, and the last one that is kept hides those before
/// it.
fn disks(depth: u32, pending: [u64; 2]) -> u64 {
    if depth == 0 {
        return 0;
    }
    let mut all = 0;
    for host in 0..2 {
        for action in ACTIONS {
            let mut pending = pending;
            pending[host] = if action == "write" { pending[host] + 1 } else { 0 };
            all +=
                pending.iter().map(|pending| pending + 1).sum::<u64>() + disks(depth - 1, pending);
        }
    }
    all
}

#[test]
fn each_host_has_a_log_of_its_own() {
    for depth in 1..=3 {
        let said = run(depth, "both");
        let summary = said.summary();
        let steps = (1..=depth).map(|depth| 6_u64.pow(depth)).sum::<u64>();
        assert_eq!(summary.states, (steps + 1).into());
        assert_eq!(summary.operations, steps.into());
        assert_eq!(summary.crash_disks, disks(depth, [0, 0]).into(), "depth {depth}");
        assert_eq!((summary.findings.clone(), summary.broken.clone()), (0.into(), 0.into()));
        assert!(summary.complete);
    }
}

/// The stack of the host that has crashed still exists, and so do the writers to its disk.
#[test]
fn a_fence_is_of_one_host() {
    let (registry, plan) = (registry(), plan(1, "both"));
    let world = world(&registry, &plan, &InProcess).expect("it starts");
    let start = |id| world.start(id, world.host.pristine().clone()).expect("it starts");
    let [mut gone, other] = HOSTS.map(start);
    let log = |host: &Host<'_>| host.stack.devices().take_log().expect("it has a log");
    let disks = [&gone, &other].map(|host| host.stack.disk().expect("it has a disk"));
    let write =
        |value: u8| disks.iter().for_each(|disk| disk.write(0, &[value; BLOCK], Flags::FUA));
    write(1);
    let kept = gone.crash().expect("it has a log");
    assert!(!log(&other).is_empty());
    write(2);
    assert!(log(&gone).is_empty(), "it is fenced");
    let has_2 =
        |payload: &Payload| matches!(payload, Payload::Data(data) if data[..] == [2; BLOCK]);
    let written = |event: &Event| matches!(event, Event::Submit { payload, .. } if has_2(payload));
    assert!(log(&other).iter().any(written), "the other host goes on");
    let back = world.start(gone.id, kept).expect("it starts");
    assert_eq!((back.promised, read(&disks[1])), (1, 2));
}

#[test]
fn a_loss_of_one_host_is_found_and_replays() {
    let said = run(2, "first");
    let findings = said.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!((&*findings[0].signature, findings[0].replayed), ("registers/lost/value", true));
    let trace = &said.traces[0];
    assert_eq!(trace.args, ["host 1", "1"]);
    let choices: Vec<(&str, Option<&str>, u32)> = trace
        .choices
        .iter()
        .map(|choice| (&*choice.label.site, choice.label.object.as_deref(), choice.value))
        .collect();
    let acts = ("acts", None, 1);
    assert_eq!(choices, [acts, ("does", Some("host 1"), 0), acts, ("does", Some("host 1"), 1)]);
}

/// A choice with the name of another host is not the recorded one.
#[test]
fn a_trace_of_another_host_diverges() {
    let said = run(2, "first");
    let mut trace = said.traces[0].clone();
    trace.choices[1].label.object = Some("host 0".to_owned());
    let replayed =
        explode_runtime::worker::replay(&registry(), &trace, &InProcess).expect("it runs");
    assert!(matches!(replayed, explode_runtime::trace::ReplayResult::Diverged(_)), "{replayed:?}");
}

/// Minimisation removes the step of the host that loses nothing. The lost write is the critical
/// one.
#[test]
fn a_trace_of_a_world_is_minimised_and_shown() {
    let said = run(2, "first");
    let least = &said.traces[0];
    let point =
        ChoicePoint { kind: ChoiceKind::Schedule, ..ChoicePoint::action(2, Label::named("acts")) };
    let action = ChoicePoint::action(ACTIONS.len() as u32, Label::named("does").on(HOSTS[0]));
    let more = [Choice::of(&point, 0), Choice::of(&action, 0)];
    let mut longer = Trace { mutates: 3, interval: least.interval + 2, ..least.clone() };
    longer.choices.splice(0..0, more);
    longer.options.depth = 3;
    let (registry, plan) = (registry(), longer.plan());
    let mut spawn = || spawn_thread(&registry);
    let bounds = SearchBounds { budget: None, tests: 1000 };
    let smaller = match minimise(&mut RemoteWorkers::new(&plan, &mut spawn), &longer, bounds)
        .expect("it runs")
    {
        MinimiseResult::Smaller(smaller) => smaller,
        other => panic!("{other:?}"),
    };
    assert_eq!(smaller.sizes.map(|size| size.mutates), [3, 2]);
    assert_eq!(smaller.trace.choices, least.choices);
    assert_eq!((&smaller.trace.crash_disk, &smaller.trace.args), (&least.crash_disk, &least.args));
    let story =
        story(&mut RemoteWorkers::new(&plan, &mut spawn), &longer, bounds).expect("it runs");
    let commands = StoryCommands { all: None, minimise: None, replay: "the replay" };
    let lines = story.lines("the trace", &commands);
    let lines = lines.iter().map(Line::plain).collect::<Vec<_>>().join("\n");
    assert!(lines.contains("host 1 promised 1, and has 0"), "{lines}");
}

/// Returns the summary of a run with `jobs` workers, each in its own thread, and the signatures
/// found.
fn merged(jobs: usize, syncs: &str) -> (Summary, BTreeSet<String>) {
    let (registry, plan) = (registry(), plan(3, syncs));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut signatures = BTreeSet::new();
    let mut confirm = |_: &std::path::Path| Confirmation::Reproduced;
    let mut hear = |message: &explode_runtime::report::Message| {
        if let explode_runtime::report::Message::Finding(finding) = message {
            signatures.insert(format!("{} {}", finding.signature, finding.count));
        }
    };
    let out = folder.path().join("run");
    let mut sink = LocalSink::new(Some(&out), &mut confirm, &mut hear);
    let mut spawn = || spawn_thread(&registry);
    let mut workers = RemoteWorkers::new(&plan, &mut spawn);
    let with_workers = |_: &dyn Fn() -> bool, work: &mut dyn FnMut(&mut dyn Workers)| {
        let mut spawn = || spawn_thread(&registry);
        work(&mut RemoteWorkers::new(&plan, &mut spawn));
    };
    let lost = |why: &str| panic!("{why}");
    let mut supervisor = Supervisor::new(&plan, &mut workers, &mut sink);
    supervisor.helpers =
        Some(Helpers { count: jobs - 1, with_workers: &with_workers, lost: &lost });
    let summary = supervisor.run().expect("the run ends");
    (Summary { seconds: 0.0, ..summary }, signatures)
}

#[test]
fn results_of_several_workers_merge_to_those_of_one() {
    for syncs in ["both", "first"] {
        let one = merged(1, syncs);
        assert_eq!(one.1.is_empty(), syncs == "both");
        for workers in [2, 3] {
            let several = merged(workers, syncs);
            // Either of two equal disks may be judged first.
            let counted = |summary: &Summary| {
                let Summary {
                    states,
                    operations,
                    choices,
                    crash_disks,
                    distinct,
                    left_out,
                    findings,
                    ..
                } = summary;
                [states, operations, choices, crash_disks, distinct, left_out, findings]
                    .map(ToString::to_string)
            };
            assert_eq!(
                (counted(&several.0), &several.1),
                (counted(&one.0), &one.1),
                "{workers} workers"
            );
        }
    }
}

#[test]
fn a_stack_alone_is_no_world() {
    let mut registry = registry();
    registry.extensions.insert(Systems::default());
    let said = common::run(&registry, &plan(1, "both"));
    assert_eq!(said.summary().broken, 1.into());
}
