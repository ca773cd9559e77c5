//! Measures checked crash disks of `fs-reasonable` per second, including exploration, mount and
//! search. The paths are random, of twelve steps, through trees of up to four names of files and
//! four directories, so that many operations are volatile. A second benchmark measures single
//! verdicts, for the worst paths and trees that were found at that size.

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use explode_checkers::fs::reasonable::hard::WORST;
use explode_runtime::base::Options;
use explode_runtime::devices::InProcess;
use explode_runtime::explore::StrategyName;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::Message;
use explode_runtime::run::{Confirmation, LocalSink, explore};

fn reasonable(c: &mut Criterion) {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    explode_checkers::register(&mut registry);
    let target = registry.target("fs-reasonable").expect("the target is there");
    let mut plan = Plan::of(&registry, target).expect("so are its components");
    plan.checker_options =
        Options::none().with("files", 4_u64).with("dirs", 4_u64).with("far", 16_384_u64);
    plan.settings.skip = false;
    plan.settings.strategy = StrategyName::Random;
    (plan.settings.depth, plan.settings.states) = (12, Some(200));
    (plan.settings.limit, plan.settings.samples) = (100, 50);
    let run = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("run");
        let (mut confirm, mut sink) = (|_: &Path| Confirmation::Reproduced, |_: &Message| {});
        let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
        explore(&registry, &plan, &InProcess, &mut audience).expect("it runs")
    };
    let summary = run();
    assert_eq!(summary.findings, 0.into());
    let mut group = c.benchmark_group("fs-reasonable");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::try_from(&summary.checked.0).expect("few enough")));
    group.bench_function("twelve steps", |b| b.iter(run));
    group.finish();
}

fn worst(c: &mut Criterion) {
    let mut group = c.benchmark_group("fs-reasonable, the worst");
    group
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    for worst in WORST {
        let case = worst.case().expect("the options are there");
        group.bench_function(format!("{} {}", worst.calls, worst.seed), |b| {
            b.iter(|| case.is_reasonable())
        });
    }
    group.finish();
}

criterion_group!(benches, reasonable, worst);
criterion_main!(benches);
