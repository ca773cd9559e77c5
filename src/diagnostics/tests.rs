//! The spans of a run with a clock that advances by one at each reading, and by the time that each
//! step of the checked system takes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::prelude::*;
use explode_runtime::report::{Message, Summary};
use explode_runtime::run::{Confirmation, LocalSink, explore};
use explode_runtime::worker::{Field, Span};
use serde_json::Value;
use tracing_subscriber::layer::SubscriberExt as _;

use super::chrome::Chrome;
use super::recorder::Recorder;

/// The time that each step takes.
const INIT: u64 = 100_000;
const RECOVER: u64 = 10_000;
const MOUNT: u64 = 5_000;
const MUTATE: u64 = 3_000;
const CHECK: u64 = 700;

type Clock = Arc<AtomicU64>;

fn pass(clock: &Clock, time: u64) {
    clock.fetch_add(time, Ordering::Relaxed);
}

/// A component whose steps only take time.
struct Slow(Clock);

impl Component for Slow {
    fn init(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        pass(&self.0, INIT);
        Ok(())
    }

    fn recover(&mut self, _below: &Below<'_>) -> Result<Recovery, StepError> {
        pass(&self.0, RECOVER);
        Ok(Recovery::Clean)
    }

    fn mount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        pass(&self.0, MOUNT);
        Ok(())
    }
}

/// A checker that writes a file and takes time.
struct Writer(Clock);

impl Checker for Writer {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        pass(&self.0, MUTATE);
        let files = cx.stack().files()?;
        cx.check_crashes_start(&[]);
        let file = files.open("/file", OpenFlags::CREATE).map_err(StepError::new)?;
        files.pwrite(file, 0, &[7; 5000]).map_err(StepError::new)?;
        files.fsync(file).map_err(StepError::new)?;
        cx.check_crashes_end(self, &[])
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        pass(&self.0, CHECK);
        Ok(())
    }
}

/// The spans of a run of two mutates, and the time at its end.
fn spans() -> (Vec<Span>, u64) {
    let clock = Clock::default();
    let (component, checker) = (Arc::clone(&clock), Arc::clone(&clock));
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    registry.components.push(
        ComponentDef::new("slow", "takes time", move |_| Ok(Box::new(Slow(component.clone()))))
            .on("simfiles"),
    );
    registry.checkers.push(CheckerDef::new("writer", "takes time", move |_| {
        Ok(Box::new(Writer(checker.clone())))
    }));
    let target = Target {
        name: "slow".into(),
        about: "takes time".into(),
        stack: StackSpec::default().plug("simfiles", Options::none()).plug("slow", Options::none()),
        checker: "writer".into(),
        checker_options: Options::none(),
        bounds: TargetBounds { depth: 2, limit: 100, samples: 10, crash_depth: 1 },
        seeded: false,
        expect: "clean".into(),
    };
    let plan = Plan::of(&registry, &target).unwrap();
    let read = Arc::clone(&clock);
    let recorder = Recorder::new(move || read.fetch_add(1, Ordering::Relaxed));
    let summary = recorded(&recorder, &registry, &plan);
    assert!(summary.complete && summary.broken.is_zero(), "{summary:?}");
    (recorder.take(0), clock.load(Ordering::Relaxed))
}

/// Explores a plan while its spans are recorded.
pub(super) fn recorded(recorder: &Recorder, registry: &Registry, plan: &Plan) -> Summary {
    let subscriber = tracing_subscriber::registry().with(recorder.clone());
    tracing::subscriber::with_default(subscriber, || {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let (mut confirm, mut sink) = (|_: &Path| Confirmation::Reproduced, |_: &Message| {});
        let mut sink = LocalSink::new(Some(&out), &mut confirm, &mut sink);
        explore(registry, plan, &InProcess, &mut sink).unwrap()
    })
}

pub(super) fn end(span: &Span) -> u64 {
    span.begin + span.nanos.unwrap()
}

/// The spans directly inside this one.
pub(super) fn children<'a>(spans: &'a [Span], of: &Span) -> Vec<&'a Span> {
    let within = |span: &Span, outer: &Span| outer.begin < span.begin && end(span) < end(outer);
    let inside: Vec<&Span> = spans.iter().filter(|span| within(span, of)).collect();
    let mut children: Vec<&Span> = inside
        .iter()
        .filter(|span| !inside.iter().any(|outer| within(span, outer)))
        .copied()
        .collect();
    children.sort_by_key(|span| span.begin);
    children
}

pub(super) fn names(spans: &[&Span]) -> Vec<String> {
    spans.iter().map(|span| span.name.clone()).collect()
}

#[test]
fn spans_nest_and_cover_the_run() {
    let (spans, time) = spans();
    assert!(spans.iter().all(|span| span.lane == 0));
    for (at, one) in spans.iter().enumerate() {
        for other in &spans[at + 1..] {
            // Spans are recorded in the order in which they close.
            assert!(end(one) < end(other));
            assert!(end(one) < other.begin || other.begin < one.begin, "{one:?} {other:?}");
        }
    }
    let whole = Span { begin: 0, nanos: Some(time + 1), ..spans[0].clone() };
    let all: Vec<Span> =
        spans.iter().map(|span| Span { begin: span.begin + 1, ..span.clone() }).collect();
    let top = children(&all, &whole);
    assert_eq!(top[0].name, "first_start");
    assert!(names(&top).iter().all(|name| ["first_start", "unit", "merge"].contains(&&**name)));
    covers(&top, time);
}

/// Checks that these spans, of a time that begins with 1, follow each other and are all of the run.
/// Between the end of one and the beginning of the next the clock is not read and nothing takes
/// time.
pub(super) fn covers(top: &[&Span], time: u64) {
    let mut now = 1;
    for span in top {
        assert_eq!(span.begin, now, "{span:?}");
        now = end(span) + 1;
    }
    assert_eq!(now, time + 1);
}

#[test]
fn a_span_is_as_long_as_its_step() {
    let (spans, _) = spans();
    let of = |name: &'static str| spans.iter().filter(move |span| span.name == name);
    assert!(of("check").all(|span| span.nanos == Some(CHECK + 1)));
    let of_slow = |name| of(name).filter(|span| span.fields.iter().any(|(_, it)| is(it, "slow")));
    assert!(of_slow("recover").count() > 2);
    assert!(of_slow("recover").all(|span| span.nanos == Some(RECOVER + 1)));
    assert!(of_slow("mount").all(|span| span.nanos == Some(MOUNT + 1)));
    for unit in of("unit") {
        let inside = names(&children(&spans, unit));
        assert_eq!(inside[..2], ["start", "init"]);
        assert_eq!(inside.last().unwrap(), "finish");
        assert!(inside[2..inside.len() - 1].iter().all(|name| name == "mutate"), "{inside:?}");
    }
    let mut checked = 0;
    for disk in of("crash_disk") {
        assert_eq!(disk.fields[1].0, "epoch");
        if disk.fields.iter().any(|(name, how)| name == "how" && is(how, "checked")) {
            checked += 1;
            let inside = names(&children(&spans, disk));
            let stages = ["restore", "recover", "mount", "recover", "mount", "check", "stop"];
            assert_eq!(inside[..7], stages);
        }
    }
    assert_eq!(checked, of("check").count());
    assert!(checked > 2);
}

fn is(field: &Field, text: &str) -> bool {
    *field == Field::Text(text.to_owned())
}

#[test]
fn the_file_has_every_span() {
    let (spans, _) = spans();
    let mut chrome = Chrome::new(Vec::new()).unwrap();
    spans.chunks(7).for_each(|spans| chrome.add(2, spans).unwrap());
    let text = chrome.finish().unwrap();
    let events: Vec<Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(events.len(), spans.len() + 1);
    assert_eq!(events[0]["args"]["name"], "worker 1");
    for (event, span) in events[1..].iter().zip(&spans) {
        assert_eq!(
            (&event["ph"], &event["pid"], &event["tid"]),
            (&"X".into(), &2.into(), &1.into())
        );
        let nanos = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as u64;
        assert_eq!((nanos("ts"), Some(nanos("dur"))), (span.begin, span.nanos));
    }
    assert_eq!(
        serde_json::from_slice::<Value>(&Chrome::new(Vec::new()).unwrap().finish().unwrap())
            .unwrap(),
        Value::Array(Vec::new())
    );
}
