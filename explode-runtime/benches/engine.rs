//! The costs that the engine adds to a checked system: a choice, the enumeration of an emission's
//! disks, the seen set, the journal, the queue.

use std::hint::black_box;
use std::path::Path;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use explode_ramdisk::{Event, Flags, Identity, Image, Payload};
use explode_runtime::base::{Options, TargetBounds};
use explode_runtime::choose::{Choice, ChoiceKind, ChoicePoint, Chooser, Label};
use explode_runtime::crash::{Instants, SampleLimits, walk};
use explode_runtime::explore::{Exhaust, FinishedUnit, Novelty, State, Strategy as _, Unit};
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::run::Keeping;
use explode_runtime::stack::StackSpec;
use explode_runtime::writeset::{DeviceRules, WriteSet};
use xxhash_rust::xxh3::xxh3_128;

fn choice(c: &mut Criterion) {
    let point = ChoicePoint::action(
        4,
        Label { site: "benches/engine.rs:1".to_owned(), ..Label::default() },
    );
    let mut group = c.benchmark_group("choice");
    group.throughput(Throughput::Elements(100));
    group.bench_function("100 answers", |b| {
        b.iter(|| {
            let mut chooser = Chooser::default();
            for _ in 0..100 {
                black_box(chooser.choose(&point, &mut |_| 1));
            }
        });
    });
    group.finish();
}

/// Returns a write set of `pieces` blocks in flight, with two versions of every fourth.
fn write_set(pieces: u64) -> WriteSet {
    let mut set = WriteSet::new(Image::new(), DeviceRules::default());
    let mut id = 0;
    for block in 0..pieces {
        for version in 0..=u8::from(block % 4 == 0) {
            id += 1;
            let data = Bytes::from(vec![version + 1; 4096]);
            let submit = Event::Submit {
                id,
                dev: 0,
                sector: block * 8,
                payload: Payload::Data(data),
                flags: Flags::NONE,
            };
            set.apply(&submit).expect("a sound log");
        }
    }
    set
}

/// Measures identities per second: every disk of an emission is named, none is built.
fn emission(c: &mut Criterion) {
    let mut group = c.benchmark_group("emission");
    group.sample_size(10);
    for pieces in [10, 12, 14, 16] {
        let set = write_set(pieces);
        let limits = SampleLimits { limit: u64::MAX, ..SampleLimits::default() };
        let every = |visit: &mut dyn FnMut(Identity)| {
            walk(&mut set.clone(), &[], Instants::Now, &limits, |disk| visit(disk.identity()))
                .expect("a sound log")
        };
        let disks = u64::try_from(&every(&mut |_| {}).crash_disks).expect("few enough");
        group.throughput(Throughput::Elements(disks));
        group.bench_function(BenchmarkId::new("identities", format!("{pieces} blocks")), |b| {
            b.iter(|| {
                every(&mut |identity| {
                    black_box(identity);
                })
            });
        });
    }
    group.finish();
}

/// Measures a sample of an emission with a huge number of disks: each disk is named.
fn sample(c: &mut Criterion) {
    let mut group = c.benchmark_group("sample");
    group.sample_size(10);
    for pieces in [100, 1000] {
        let (set, limits) = (write_set(pieces), SampleLimits::default());
        group.throughput(Throughput::Elements(limits.samples));
        group.bench_function(BenchmarkId::new("identities", format!("{pieces} blocks")), |b| {
            b.iter(|| {
                walk(&mut set.clone(), &[], Instants::Now, &limits, |disk| {
                    black_box(disk.identity());
                })
                .expect("a sound log")
            });
        });
    }
    group.finish();
}

/// Measures disks per second that are named and built.
fn build(c: &mut Criterion) {
    let set = write_set(10);
    let mut group = c.benchmark_group("crash disk");
    let limits = SampleLimits::default();
    let mut disks = 0;
    walk(&mut set.clone(), &[], Instants::Now, &limits, |_| disks += 1).expect("a sound log");
    group.throughput(Throughput::Elements(disks));
    group.bench_function("built", |b| {
        b.iter(|| {
            walk(&mut set.clone(), &[], Instants::Now, &limits, |disk| {
                black_box(disk.image());
            })
            .expect("a sound log")
        });
    });
    group.finish();
}

/// Returns keys with the distribution of those of checks.
fn keys(from: u64, count: u64) -> Vec<u128> {
    (from..from + count).map(|n| xxh3_128(&n.to_le_bytes())).collect()
}

/// Returns a plan for the first record of a journal.
fn plan() -> Plan {
    let target = Target {
        name: "keeping".into(),
        about: "".into(),
        stack: StackSpec::default(),
        checker: "keeping".into(),
        checker_options: Options::none(),
        bounds: TargetBounds { depth: 4, limit: 1, samples: 2, crash_depth: 0 },
        seeded: false,
        expect: "clean".into(),
    };
    Plan::of(&Registry::default(), &target).expect("it has no components")
}

/// Measures the seen set: keys are added one by one to an empty set.
fn seen(c: &mut Criterion) {
    let mut group = c.benchmark_group("seen set");
    group.sample_size(10);
    for millions in [1, 10] {
        let keys = keys(0, millions * 1_000_000);
        group.throughput(Throughput::Elements(keys.len() as u64));
        group.bench_function(BenchmarkId::new("keys", format!("{millions} million")), |b| {
            b.iter(|| {
                let mut keeping = Keeping::new(&plan(), Path::new("."));
                assert_eq!(keeping.see(&keys), keys.len());
                assert!(keeping.bytes_per_key() < 24.0);
            });
        });
    }
    group.finish();
}

/// Returns the state that four choices lead to.
fn state() -> State {
    let label = Label { site: "benches/engine.rs:1".to_owned(), ..Label::default() };
    let choice = |value| Choice {
        kind: ChoiceKind::Action,
        options: 6,
        value,
        name: None,
        label: label.clone(),
    };
    State { choices: (0..4).map(choice).collect(), depth: 4 }
}

/// Measures the journal: units of 500 checks each, made durable once a second.
fn journal(c: &mut Criterion) {
    let mut group = c.benchmark_group("journal");
    group.sample_size(10);
    let (unit, keys) = (Unit { state: state(), ..Unit::default() }, keys(0, 500));
    group.throughput(Throughput::Elements(100 * 500));
    group.bench_function("keys of 100 units", |b| {
        b.iter(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut keeping = Keeping::new(&plan(), folder.path());
            (0..100).for_each(|_| keeping.unit(&unit, &keys).expect("there is room"));
        });
    });
    group.finish();
}

/// Measures the queue: every unit of six choices, four deep, each state new.
fn queue(c: &mut Criterion) {
    let mut group = c.benchmark_group("queue");
    group.throughput(Throughput::Elements(6 + 36 + 216 + 1296));
    let label = Label { site: "benches/engine.rs:1".to_owned(), ..Label::default() };
    group.bench_function("units", |b| {
        b.iter(|| {
            let mut strategy = Exhaust::new(4);
            let mut units = 0;
            while let Some(unit) = strategy.next() {
                units += 1;
                let mut choices = unit.state.choices.clone();
                let value = unit.script.first().map_or(0, |choice| choice.value);
                choices.push(Choice {
                    kind: ChoiceKind::Action,
                    options: 6,
                    value,
                    name: None,
                    label: label.clone(),
                });
                strategy.observe(&FinishedUnit {
                    unit: &unit,
                    choices: &choices,
                    arrivals: &[],
                    reached: Novelty::New,
                });
            }
            assert_eq!(units, 6 + 36 + 216 + 1296);
        });
    });
    group.finish();
}

criterion_group!(benches, choice, emission, sample, build, seen, journal, queue);
criterion_main!(benches);
