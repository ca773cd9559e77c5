//! How fast crash disks are checked, and what of that time is the checked system's own (`explode bench`).
//!
//! A target is explored without checks until one request for crash checks has disks enough. There rounds over these disks
//! alternate in one process: [`explode`] checks them as a run does, [`floor`] is a plain loop that restores, repairs, mounts,
//! reads and unmounts. Whatever slows the machine down meanwhile slows both, so that their ratio means something where neither
//! time does. [`restore`] measures that part by itself.

mod explode;
mod floor;
mod restore;

use std::time::{Duration, Instant};

use explode_ramdisk::Image;
use serde::{Deserialize, Serialize};

use super::error::RunError;
use super::plan::{Mode, Plan};
use super::registry::Registry;
use super::unit::{Place, Runner, Work};
use crate::check::{Ask, Failure};
use crate::crash::When;
use crate::devices::Lab;
use crate::explore::{Finished, Reached};
use crate::pipeline::Pipeline;
use crate::recover::{Fault, Stack};
use floor::FloorLoop;

/// Rounds of each kind, at least: as many as there is time for.
const ROUNDS: usize = 15;
/// And at most; their ratios are alike, whatever the machine does.
const MOST_ROUNDS: usize = 101;
const TIME: Duration = Duration::from_secs(20);
/// Rounds with crashes during recovery; each may check so many times as many disks as one without.
const RECOVERY_ROUNDS: usize = 3;
const RECOVERY_FACTOR: u64 = 3;

/// What was measured. Times are medians, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// The target's name.
    pub target: String,
    /// Where.
    #[serde(rename = "in")]
    pub mode: Mode,
    /// Crash disks of a round.
    pub disks: u64,
    /// How many of them show an error.
    pub violations: u64,
    /// How many blocks differ between one disk and the next, on average.
    pub blocks: f64,
    /// Rounds of each kind.
    pub rounds: usize,
    /// A check by explode.
    pub explode_us: f64,
    /// A check by a plain loop, if the stack's top can say what that is.
    pub floor_us: Option<f64>,
    /// How many times as fast as explode that loop is, turned over: the median over the rounds.
    pub share: Option<f64>,
    /// A check with crashes during recovery one deep: of the crash disks, and of those that their recovery leaves.
    pub recovery_us: f64,
    /// How many disks that were, and how many of them by crashes during recovery.
    pub recovery_disks: (u64, u64),
    /// Restoring a disk of the stack on which blocks were written, if it is one of the kernel's.
    pub restore: Option<Restore>,
    /// How long all this took, by the clock of the machine it ran on.
    pub seconds: f64,
}

/// What restoring a disk costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restore {
    /// How many blocks were written since it was restored before.
    pub blocks: usize,
    /// Size of the disk.
    pub mib: f64,
    /// How long it takes.
    pub us: f64,
}

/// Measures a plan in a lab, by rounds of `disks` crash disks.
///
/// # Errors
/// Wrong usage; a component or a check that fails; no request for crash checks has so many disks.
pub fn bench(registry: &Registry, plan: &Plan, lab: &Lab, disks: u64) -> Result<BenchReport, RunError> {
    let started = Instant::now();
    let mut plan = plan.clone();
    // A sample has enough as well.
    plan.settings.samples = plan.settings.samples.max(disks);
    let runner = Runner::start(registry, &plan, lab)?;
    let mut bencher = Bencher { wanted: disks, most: 0, measured: None };
    let mut strategy = plan.strategy();
    while let Some(unit) = strategy.next() {
        let ended = runner.run(&unit, &mut |point| strategy.fallback(point), &mut bencher);
        if let Some(measured) = bencher.measured {
            let measured = measured.map_err(|fault| RunError::Broken(fault.to_string()))?;
            let restore = restore::measure(registry, &plan, lab)?;
            return Ok(measured.report(&plan, restore, started.elapsed()));
        }
        // What is new is not known without signatures; a depth bounds it in any case.
        strategy.observe(&Finished { unit: &unit, choices: &ended.choices, reached: Reached::New });
    }
    let most = bencher.most;
    Err(RunError::Broken(format!("no request for crash checks has {disks} disks, the largest has {most}")))
}

/// Looks for a request for crash checks that is large enough, and measures there.
struct Bencher {
    wanted: u64,
    /// The largest so far.
    most: u64,
    measured: Option<Result<Measured, Fault>>,
}

/// The rounds' times.
struct Measured {
    disks: u64,
    violations: u64,
    blocks: f64,
    explode: Vec<Duration>,
    floor: Vec<Duration>,
    recovery: Vec<Duration>,
    recovery_disks: (u64, u64),
}

impl Work for Bencher {
    fn crashes(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        stack: &Stack,
        ask: &Ask<'_>,
        place: Place,
    ) -> Result<(), Failure> {
        let devices = stack.devices();
        // Only up to here is the log read: the copies below begin where this one is.
        pipeline.skip(devices, When::Now)?;
        let crashes = explode::Crashes { stack, ask, interval: place.interval };
        let images = crashes.images(pipeline, self.wanted)?;
        if (images.len() as u64) < self.wanted {
            self.most = self.most.max(images.len() as u64);
            pipeline.candidates(devices, ask, place.interval, |_| ())?;
            return Ok(());
        }
        // What happened before the request is looked at once, however many disks there are.
        let mut pipeline = pipeline.clone();
        if ask.when == When::Now {
            pipeline.candidates(devices, ask, place.interval, |_| ())?;
        }
        self.measured = Some(measure(&pipeline, &crashes, &images));
        Err(Failure::Stop)
    }

    fn reached(&mut self, _signature: u128, _depth: u32) -> bool {
        self.measured.is_none()
    }
}

fn measure(
    pipeline: &Pipeline<'_>,
    crashes: &explode::Crashes<'_>,
    images: &[Image],
) -> Result<Measured, Fault> {
    let wanted = images.len() as u64;
    let mut floor = FloorLoop::of(crashes.stack, images)?;
    let mut measured = Measured {
        disks: wanted,
        violations: crashes.check(pipeline, wanted)?.violations,
        blocks: floor::blocks(images),
        explode: Vec::new(),
        floor: Vec::new(),
        recovery: Vec::new(),
        recovery_disks: (0, 0),
    };
    let started = Instant::now();
    let rounds = |done: usize| done < ROUNDS || (done < MOST_ROUNDS && started.elapsed() < TIME);
    while rounds(measured.explode.len()) {
        measured.explode.push(crashes.check(pipeline, wanted)?.time / wanted as u32);
        if let Some(floor) = &mut floor {
            measured.floor.push(floor.round()? / wanted as u32);
        }
    }
    for _ in 0..RECOVERY_ROUNDS {
        let round = crashes.check_deeper(pipeline, wanted, RECOVERY_FACTOR * wanted)?;
        measured.recovery.push(round.time / (round.crash_disks + round.crash_crash_disks) as u32);
        measured.recovery_disks = (round.crash_disks, round.crash_crash_disks);
    }
    Ok(measured)
}

impl Measured {
    fn report(mut self, plan: &Plan, restore: Option<Restore>, elapsed: Duration) -> BenchReport {
        let shares = self.floor.iter().zip(&self.explode);
        let mut shares: Vec<f64> =
            shares.map(|(floor, explode)| floor.as_secs_f64() / explode.as_secs_f64()).collect();
        shares.sort_by(f64::total_cmp);
        BenchReport {
            target: plan.target.clone(),
            mode: plan.mode,
            disks: self.disks,
            violations: self.violations,
            blocks: self.blocks,
            rounds: self.explode.len(),
            explode_us: median_us(&mut self.explode).expect("there is a round"),
            floor_us: median_us(&mut self.floor),
            share: shares.get(shares.len() / 2).copied(),
            recovery_us: median_us(&mut self.recovery).expect("there is a round"),
            recovery_disks: self.recovery_disks,
            restore,
            seconds: elapsed.as_secs_f64(),
        }
    }
}

/// The median, in microseconds.
fn median_us(times: &mut [Duration]) -> Option<f64> {
    times.sort_unstable();
    times.get(times.len() / 2).map(|time| time.as_nanos() as f64 / 1000.0)
}
