//! The speed of checking crash disks, and the share of the checked system in that time
//! (`explode bench`, docs/internals/benchmarks.md).
//!
//! `bench` explores a target without checks until a request for crash checks has enough disks.
//! There rounds over these disks alternate in one process: [`explode`] checks them as a run does,
//! [`floor`] is a plain loop that restores, repairs, mounts, reads and unmounts. Other load on the
//! machine slows both, so their ratio is stable where the times are not. [`restore`] measures the
//! part whose cost depends on the size of a disk in other tools. [`tracing`] measures the cost of
//! EKM.

mod explode;
mod floor;
mod report;
mod restore;
mod rounds;
mod tracing;

use std::time::Instant;

use explode_ramdisk::Image;
use explode_runtime::base::{BrokenKind, RunError, StepError, UsageError};
use explode_runtime::check::CrashRequest;
use explode_runtime::choose::{Answers, ChoicePoint};
use explode_runtime::crash::Instants;
use explode_runtime::devices::Backend;
use explode_runtime::explore::{FinishedUnit, Novelty, ReachedState};
use explode_runtime::judge::CrashPipeline;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::stack::Stack;
use explode_runtime::unit::{Runner, UnitHooks, UnitProgress, UnitStop};
use explode_runtime::verdict::CheckError;
use rounds::Measured;

pub use report::BenchReport;
pub use restore::{RESTORE_MIB, RestoreCost, bench_restore};
pub use tracing::{EkmCost, bench_tracing};

/// The largest sample in which distinct disks are looked for. Disks of a sample can be equal, so a
/// request may need a sample larger than the wanted number of disks.
const LARGEST_SAMPLE: u64 = 4096;

/// Measures a plan in a backend, by rounds of `disks` crash disks.
///
/// # Errors
/// Wrong usage; a component or a check fails; no request for crash checks has `disks` disks.
pub fn bench(
    registry: &Registry,
    plan: &Plan,
    backend: &dyn Backend,
    disks: u64,
) -> Result<BenchReport, RunError> {
    let started = Instant::now();
    let mut plan = plan.clone();
    // Enumerates no more disks than are checked, unless some of them are equal.
    (plan.settings.limit, plan.settings.samples) = (disks, disks);
    let runner = Runner::start(registry, &plan, backend)?;
    let mut strategy = plan.strategy()?;
    let mut bencher = Bencher { answers: None, wanted: disks, most: 0, measured: None };
    while let Some(unit) = strategy.next() {
        bencher.answers = Some(registry.policies.answers(&unit.policy)?);
        let ended = runner.run(&unit, &mut bencher);
        if let Some(measured) = bencher.measured {
            return Ok(measured?.report(&plan, started.elapsed()));
        }
        match ended.early {
            Some(UnitStop::Broken(why)) => return Err(why.into()),
            Some(UnitStop::Diverged(divergence)) => {
                return Err(BrokenKind::NotReproduced.of(divergence).into());
            }
            Some(UnitStop::Violated(..) | UnitStop::Stopped) | None => {}
        }
        // Without checks every state is explored further. The plan's depth ends the search.
        let (choices, reached) = (&ended.choices, Novelty::New);
        strategy.observe(&FinishedUnit { unit: &unit, choices, arrivals: &[], reached });
    }
    let (target, depth, most) = (&plan.target, plan.settings.depth, bencher.most);
    let fewer = if most < 2 { String::new() } else { format!("--checks {most} or ") };
    Err(UsageError(format!(
        "no request for crash checks of {target}, {depth} mutates deep, has {disks} disks, the \
         largest has {most}; \
         use {fewer}a larger --depth"
    ))
    .into())
}

/// Looks for a request for crash checks that is large enough, and measures there.
struct Bencher {
    /// The answers of the unit that runs.
    answers: Option<Box<dyn Answers>>,
    wanted: u64,
    /// The largest number of distinct disks of a request so far.
    most: u64,
    measured: Option<Result<Measured, StepError>>,
}

impl Bencher {
    /// Returns the images of the wanted number of distinct disks, and a pipeline whose sample has
    /// them. `None` if the request has fewer.
    fn sample<'a>(
        &mut self,
        pipeline: &CrashPipeline<'a>,
        crashes: &explode::Crashes<'_>,
    ) -> Result<Option<(CrashPipeline<'a>, Vec<Image>)>, StepError> {
        let mut sample = self.wanted;
        loop {
            let sampling = pipeline.clone().sampling(sample);
            let (images, all) = crashes.images(&sampling, self.wanted)?;
            let distinct = images.len() as u64;
            if distinct == self.wanted {
                return Ok(Some((sampling, images)));
            }
            self.most = self.most.max(distinct);
            if all || sample >= LARGEST_SAMPLE {
                return Ok(None);
            }
            sample = (sample + 1).next_power_of_two();
        }
    }
}

impl UnitHooks for Bencher {
    fn fallback(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.answers.as_mut().map_or(0, |answers| answers.answer(point))
    }

    fn crashes(
        &mut self,
        pipeline: &mut CrashPipeline<'_>,
        stack: &Stack,
        request: &CrashRequest<'_>,
        so_far: &UnitProgress<'_>,
    ) -> Result<(), CheckError> {
        let (devices, place) = (stack.devices(), so_far.place);
        let crashes = explode::Crashes { stack, request, at: (place.interval, so_far.choices) };
        // The copies below do not read the log, so this pipeline reads it.
        pipeline.follow(devices)?;
        let Some((mut pipeline, images)) = self.sample(pipeline, &crashes)? else {
            pipeline.candidates(devices, request, crashes.at, |_| ())?;
            return Ok(());
        };
        // The events before the request are followed once here, so that no round includes them.
        if request.when == Instants::Now {
            pipeline.candidates(devices, request, crashes.at, |_| ())?;
        }
        self.measured = Some(rounds::measure(&pipeline, &crashes, &images));
        Err(CheckError::Stop)
    }

    fn reached(&mut self, _arrival: ReachedState, _signature: Option<&[u8]>, _more: bool) -> bool {
        self.measured.is_none()
    }
}
