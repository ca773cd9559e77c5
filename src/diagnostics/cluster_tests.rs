//! The spans of walks in a cluster, with a clock that advances by one at each reading, and by the
//! time that each handler takes.

use std::cell::Cell;

use explode_cluster::prelude::*;
use explode_runtime::worker::{Field, Span};
use serde_json::Value;

use super::chrome::Chrome;
use super::recorder::{Recorder, host};
use super::tests::{children, covers, end, names, recorded};

/// The time that a node needs to open.
const OPENS: u64 = 1000;
/// The time that a node needs for a message.
const HEARS: u64 = 300;
const WALKS: u64 = 70;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

fn pass(time: u64) -> u64 {
    NOW.replace(NOW.get() + time)
}

/// A node that takes time, and counts what it hears. A crash makes it forget.
struct Slow(u32);

impl Node for Slow {
    type Msg = ();
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Slow>) -> Handled<Slow> {
        pass(OPENS);
        host.broadcast(&())?;
        Ok(Slow(0))
    }

    fn on_message(&mut self, _: NodeId, (): (), _: &mut Host<'_, Slow>) -> Handled {
        pass(HEARS);
        self.0 += 1;
        Ok(())
    }
}

/// The spans of a run with findings, and the time at its end.
fn spans() -> (Vec<Span>, u64) {
    let (registry, plan) = cluster::<Slow>("slow", 3)
        .faults(FaultBudget { crashes: 1, ..FaultBudget::NONE })
        .steps(12, 2)
        .always("each peer was heard once", |world| world.up().all(|node| node.0 <= 2))
        .test(walks(WALKS))
        .unwrap();
    NOW.set(0);
    let recorder = Recorder::new(|| pass(1));
    let summary = recorded(&recorder, &registry, &plan);
    assert!(summary.broken.is_zero() && !summary.findings.is_zero(), "{summary:?}");
    (recorder.take(0), NOW.get())
}

fn number(span: &Span, name: &str) -> u64 {
    match span.fields.iter().find(|(known, _)| known == name) {
        Some((_, Field::Number(number))) => *number,
        other => panic!("{name} is {other:?} in {span:?}"),
    }
}

#[test]
fn walks_nest_and_hosts_have_lanes() {
    let (mut spans, time) = spans();
    for one in &spans {
        for other in spans.iter().filter(|other| other.lane == one.lane && *other != one) {
            let apart = end(one) < other.begin || end(other) < one.begin;
            let inside = one.begin < other.begin && end(other) < end(one);
            let around = other.begin < one.begin && end(one) < end(other);
            assert!(apart || inside || around, "{one:?} {other:?}");
        }
    }
    spans.iter_mut().for_each(|span| span.begin += 1);
    let whole = Span { begin: 0, nanos: Some(time + 1), ..spans[0].clone() };
    let top = children(&spans, &whole);
    let known = ["first_start", "unit", "merge", "confirm"];
    assert!(names(&top).iter().all(|name| known.contains(&&**name)), "{:?}", names(&top));
    covers(&top, time);
    let units: Vec<&Span> = top.into_iter().filter(|span| span.name == "unit").collect();
    let of_units = units.iter().flat_map(|unit| children(&spans, unit));
    let walks: Vec<&Span> = of_units.filter(|span| span.name == "walk").collect();
    let numbers: Vec<u64> = walks.iter().map(|walk| number(walk, "number")).collect();
    assert_eq!(numbers, (1..=WALKS).collect::<Vec<_>>());
    let mut found = 0;
    for walk in walks {
        let is_repeated = number(walk, "number").is_multiple_of(64);
        let inside = children(&spans, walk);
        let is = |name: &str| inside.iter().filter(|span| span.name == name).count();
        assert_eq!(is("repeat"), usize::from(is_repeated), "{:?}", names(&inside));
        assert!(is("crash") <= 1);
        for named in inside.iter().filter(|span| span.name == "name_choices") {
            found += 1;
            let steps = children(&spans, named);
            let numbers: Vec<u64> = steps.iter().map(|step| number(step, "step")).collect();
            assert_eq!(numbers, (1..=number(walk, "steps")).collect::<Vec<_>>(), "{steps:?}");
            steps.into_iter().for_each(|step| has_its_time(&spans, step));
        }
    }
    assert!(found > 2, "{found} walks violated the promise");
}

/// Checks the length of a step, in which a crash may be.
fn has_its_time(spans: &[Span], step: &Span) {
    let time = match &*step.name {
        "opens" => OPENS,
        "message" => HEARS,
        other => panic!("a step '{other}'"),
    };
    let inside = children(spans, step);
    assert!(inside.len() <= 1 && inside.iter().all(|span| span.name == "crash"), "{inside:?}");
    assert!(inside.iter().all(|crash| crash.lane == step.lane && crash.nanos == Some(1)));
    assert_eq!(step.nanos, Some(time + 1 + 2 * inside.len() as u64), "{step:?}");
}

#[test]
fn a_lane_has_the_name_of_its_host() {
    let (spans, _) = spans();
    let mut chrome = Chrome::new(Vec::new()).unwrap();
    spans.chunks(7).for_each(|spans| chrome.add(2, spans).unwrap());
    let text = chrome.finish().unwrap();
    let events: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let lanes = events.iter().filter(|event| event["name"] == "thread_name");
    let lanes: Vec<(&Value, &str)> =
        lanes.map(|lane| (&lane["tid"], lane["args"]["name"].as_str().unwrap())).collect();
    assert_eq!(
        lanes.iter().map(|(_, name)| *name).sorted().collect::<Vec<_>>(),
        ["n1", "n2", "n3"]
    );
    let of_hosts = spans.iter().filter(|span| host(&span.fields).is_some()).count();
    let shown = events.iter().filter(|event| event["args"]["host"].is_string());
    for event in shown.clone() {
        let lane = lanes.iter().find(|(_, name)| *name == event["args"]["host"]).unwrap();
        assert_eq!(&event["tid"], lane.0, "{event}");
    }
    assert_eq!(shown.count(), of_hosts);
    assert_eq!(events.len(), spans.len() + 1 + 3);
}
