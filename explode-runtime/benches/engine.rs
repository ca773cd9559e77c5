//! What the engine adds to a checked system: a choice, and the enumeration of an emission's disks.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use explode_ramdisk::{Event, Flags, Identity, Image, Payload};
use explode_runtime::choose::{Chooser, Label, Point};
use explode_runtime::crash::{Limits, When, walk};
use explode_runtime::writeset::{Rules, WriteSet};

fn choice(c: &mut Criterion) {
    let point = Point::action(4, Label { site: "benches/engine.rs:1".to_owned(), ..Label::default() });
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

/// A write set of `pieces` blocks in flight, two versions of every fourth.
fn write_set(pieces: u64) -> WriteSet {
    let mut set = WriteSet::new(Image::new(), Rules::default());
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

/// Identities a second: every disk of an emission is named, none is built.
fn emission(c: &mut Criterion) {
    let mut group = c.benchmark_group("emission");
    group.sample_size(10);
    for pieces in [10, 12, 14, 16] {
        let set = write_set(pieces);
        let limits = Limits { limit: u64::MAX, ..Limits::default() };
        let every = |visit: &mut dyn FnMut(Identity)| {
            walk(&mut set.clone(), &[], When::Now, &limits, |disk| visit(disk.identity()))
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

/// A sample of an emission whose number of disks is huge: each is named.
fn sample(c: &mut Criterion) {
    let mut group = c.benchmark_group("sample");
    group.sample_size(10);
    for pieces in [100, 1000] {
        let (set, limits) = (write_set(pieces), Limits::default());
        group.throughput(Throughput::Elements(limits.samples));
        group.bench_function(BenchmarkId::new("identities", format!("{pieces} blocks")), |b| {
            b.iter(|| {
                walk(&mut set.clone(), &[], When::Now, &limits, |disk| {
                    black_box(disk.identity());
                })
                .expect("a sound log")
            });
        });
    }
    group.finish();
}

/// Disks a second that are built too.
fn build(c: &mut Criterion) {
    let set = write_set(10);
    let mut group = c.benchmark_group("crash disk");
    let limits = Limits::default();
    let mut disks = 0;
    walk(&mut set.clone(), &[], When::Now, &limits, |_| disks += 1).expect("a sound log");
    group.throughput(Throughput::Elements(disks));
    group.bench_function("built", |b| {
        b.iter(|| {
            walk(&mut set.clone(), &[], When::Now, &limits, |disk| {
                black_box(disk.image());
            })
            .expect("a sound log")
        });
    });
    group.finish();
}

criterion_group!(benches, choice, emission, sample, build);
criterion_main!(benches);
