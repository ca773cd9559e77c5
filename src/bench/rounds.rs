//! The rounds over one request's crash disks, by explode and by the plain loop in turn.

use std::time::{Duration, Instant};

use explode_ramdisk::Image;

use super::BenchReport;
use super::explode::Crashes;
use super::floor::BaselineLoop;
use explode_runtime::base::StepError;
use explode_runtime::judge::CrashPipeline;
use explode_runtime::plan::Plan;

/// The minimum number of rounds of each kind.
const ROUNDS: usize = 15;
/// The maximum number of rounds, if [`TIME`] allows it.
const MOST_ROUNDS: usize = 101;
const TIME: Duration = Duration::from_secs(20);
/// The number of rounds with crashes during recovery. Each checks at most [`RECOVERY_FACTOR`] times
/// the disks of a round without them.
const RECOVERY_ROUNDS: usize = 3;
const RECOVERY_FACTOR: u64 = 3;

/// The times per disk of all rounds.
pub(super) struct Measured {
    disks: u64,
    violations: u64,
    blocks: Option<f64>,
    explode: Vec<Duration>,
    baseline: Vec<Duration>,
    recovery: Vec<Duration>,
    recovery_disks: u64,
    recovery_crash_crash_disks: u64,
}

/// Measures checks of the request's first disks, whose images are `images`.
pub(super) fn measure(
    pipeline: &CrashPipeline<'_>,
    crashes: &Crashes<'_>,
    images: &[Image],
) -> Result<Measured, StepError> {
    let wanted = images.len() as u64;
    let mut floor = BaselineLoop::of(crashes.stack, images)?;
    let mut measured = Measured {
        disks: wanted,
        // The first round warms up.
        violations: crashes.check(pipeline, wanted)?.violations,
        blocks: floor.as_ref().map(BaselineLoop::blocks),
        explode: Vec::new(),
        baseline: Vec::new(),
        recovery: Vec::new(),
        recovery_disks: 0,
        recovery_crash_crash_disks: 0,
    };
    let started = Instant::now();
    let more = |done: usize| done < ROUNDS || (done < MOST_ROUNDS && started.elapsed() < TIME);
    while more(measured.explode.len()) {
        measured.explode.push(crashes.check(pipeline, wanted)?.time / wanted as u32);
        if let Some(floor) = &mut floor {
            measured.baseline.push(floor.round()? / wanted as u32);
        }
    }
    for _ in 0..RECOVERY_ROUNDS {
        let round = crashes.check_deeper(pipeline, wanted, RECOVERY_FACTOR * wanted)?;
        measured.recovery.push(round.time / (round.crash_disks + round.crash_crash_disks) as u32);
        measured.recovery_disks = round.crash_disks;
        measured.recovery_crash_crash_disks = round.crash_crash_disks;
    }
    Ok(measured)
}

impl Measured {
    /// Returns the report, with the medians of the times.
    pub fn report(mut self, plan: &Plan, elapsed: Duration) -> BenchReport {
        let rounds = self.baseline.iter().zip(&self.explode);
        let mut shares: Vec<f64> =
            rounds.map(|(floor, explode)| floor.as_secs_f64() / explode.as_secs_f64()).collect();
        shares.sort_by(f64::total_cmp);
        BenchReport {
            target: plan.target.clone(),
            mode: plan.mode,
            disks: self.disks,
            violations: self.violations,
            blocks: self.blocks,
            rounds: self.explode.len(),
            explode_us: median_us(&mut self.explode).expect("there is a round"),
            floor_us: median_us(&mut self.baseline),
            share: shares.get(shares.len() / 2).copied(),
            recovery_us: median_us(&mut self.recovery).expect("there is a round"),
            recovery_disks: self.recovery_disks,
            recovery_crash_crash_disks: self.recovery_crash_crash_disks,
            seconds: elapsed.as_secs_f64(),
        }
    }
}

/// Returns the median in microseconds. `None` for an empty list.
pub(super) fn median_us(times: &mut [Duration]) -> Option<f64> {
    times.sort_unstable();
    times.get(times.len() / 2).map(|time| time.as_nanos() as f64 / 1000.0)
}
