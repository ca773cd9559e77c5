//! Measures checked crash disks of redb per second, including exploration, repair and reading the
//! table.

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::Message;
use explode_runtime::run::{Confirmation, LocalSink, explore};

fn redb(c: &mut Criterion) {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    explode_checkers::register(&mut registry);
    let mut group = c.benchmark_group("redb");
    group.sample_size(10);
    for name in ["redb", "redb-2pc", "redb-quick", "redb-none"] {
        let mut plan = Plan::of(&registry, registry.target(name).expect("the target is there"))
            .expect("so are its components");
        plan.settings.depth = 2;
        // An emission of redb-quick has very many disks. A sample of them is enough.
        (plan.settings.limit, plan.settings.samples) = (2000, 500);
        plan.settings.crash_depth = 0;
        // Skipped checks would not measure anything.
        plan.settings.skip = false;
        let run = || {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let out = folder.path().join("run");
            let (mut confirm, mut sink) = (|_: &Path| Confirmation::Reproduced, |_: &Message| {});
            let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
            explore(&registry, &plan, &InProcess, &mut audience).expect("it runs")
        };
        let checked = run().checked;
        group.throughput(Throughput::Elements(u64::try_from(&checked.0).expect("few enough")));
        group.bench_function(name, |b| b.iter(run));
    }
    group.finish();
}

criterion_group!(benches, redb);
criterion_main!(benches);
