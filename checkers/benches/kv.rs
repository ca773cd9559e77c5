//! Measures checked crash disks of small stores per second, including exploration, recovery and the
//! check. Crash-crash disks count as well.

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Message, Summary};
use explode_runtime::run::{Confirmation, LocalSink, explore};

fn kv(c: &mut Criterion) {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    explode_checkers::register(&mut registry);
    for name in ["wal-kv", "journal-kv"] {
        let mut group = c.benchmark_group(name);
        group.sample_size(10);
        for (skip, how) in [(true, "skipping"), (false, "every check")] {
            let mut plan = Plan::of(&registry, registry.target(name).expect("the target is there"))
                .expect("so are its components");
            plan.settings.depth = 4;
            plan.settings.skip = skip;
            let run = || {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let out = folder.path().join("run");
                let (mut confirm, mut sink) =
                    (|_: &Path| Confirmation::Reproduced, |_: &Message| {});
                let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
                explore(&registry, &plan, &InProcess, &mut audience).expect("it runs")
            };
            group.throughput(Throughput::Elements(made(&run())));
            group.bench_function(how, |b| b.iter(run));
        }
        group.finish();
    }
}

/// Returns the number of checked disks.
fn made(summary: &Summary) -> u64 {
    u64::try_from(&summary.checked.0 + &summary.crash_crash_disks.0).expect("few enough")
}

criterion_group!(benches, kv);
criterion_main!(benches);
