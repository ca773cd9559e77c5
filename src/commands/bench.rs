//! `explode bench`: measures how fast crash disks are checked, compared with a plain loop without
//! explode over the same disks, and how fast walks of clusters are, compared with a loop by hand.

mod measured;
mod plans;
mod render;

use explode_cluster::rates::measure as measure_walks;
use explode_kernel::AllBackends;
use explode_runtime::base::{Exit, Mode, RunError};
use explode_runtime::devices::Backends as _;
use explode_runtime::plan::Registry;

use crate::bench::{bench as measure, bench_restore, bench_tracing};
use crate::cli::{BenchArgs, Format};
use crate::guest::bench::BenchGuest;
use crate::output;
use measured::BenchMeasured;
use plans::{Variant, is_cluster, variants};

/// Measures the targets one after the other, all in one guest or all in this process.
pub fn bench(registry: &Registry, args: &BenchArgs) -> Exit {
    let print = |measured: &BenchMeasured<'_>| match args.format {
        Format::Jsonl => output::line(&render::json(measured).to_string()),
        Format::Human => render::text(measured).iter().for_each(|line| output::line(line)),
    };
    match measure_all(registry, args, &print) {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(error.exit(), error),
    }
}

fn measure_all(
    registry: &Registry,
    args: &BenchArgs,
    print: &dyn Fn(&BenchMeasured<'_>),
) -> Result<(), RunError> {
    let (disks, variants) = (u64::from(args.checks), variants(registry, args)?);
    // All targets run in the mode of the first, so that one machine is measured.
    let mode = variants[0].plan.mode;
    if mode == Mode::Vm {
        let mut guest = BenchGuest::boot(variants.iter().map(|variant| &variant.plan))?;
        for variant in &variants {
            let (report, host_seconds) = guest.bench(&variant.plan, disks)?;
            print(&BenchMeasured::Checks(variant, &report, Some(host_seconds)));
        }
        guest.restore()?.iter().for_each(|restore| print(&BenchMeasured::Restore(restore)));
        guest.tracing()?.iter().for_each(|tracing| print(&BenchMeasured::Tracing(tracing)));
    } else {
        let is_walked = |variant: &&Variant| is_cluster(registry, &variant.plan.checker);
        for variant in variants.iter().filter(is_walked) {
            let rates = measure_walks(registry, &variant.plan)?;
            print(&BenchMeasured::Walks(variant, &rates));
        }
        if variants.iter().all(|variant| is_walked(&variant)) {
            return Ok(());
        }
        let backend = AllBackends.open(mode)?;
        for variant in variants.iter().filter(|variant| !is_walked(variant)) {
            print(&BenchMeasured::Checks(
                variant,
                &measure(registry, &variant.plan, &*backend, disks)?,
                None,
            ));
        }
        bench_restore(&*backend)?
            .iter()
            .for_each(|restore| print(&BenchMeasured::Restore(restore)));
        bench_tracing(registry, &*backend)?
            .iter()
            .for_each(|tracing| print(&BenchMeasured::Tracing(tracing)));
    }
    Ok(())
}
