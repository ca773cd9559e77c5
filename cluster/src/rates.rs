//! The speed of walks, beside a loop written by hand that does the same work.
//!
//! Rounds of both alternate in one thread. Other load on the machine slows both, so their ratio is
//! stable where the times are not.

use std::time::{Duration, Instant};

use explode_runtime::base::{ExactCount, RunError, UsageError};
use explode_runtime::choose::Policy;
use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::unit::{System, WalkEnd, open};
use num_bigint::BigUint;

use crate::by_hand::HandLoops;
use crate::walks::{WalkReceiver, make_walks};

/// The number of walks of a round.
const WALKS: u32 = 64;
/// The minimum number of rounds of each kind.
const ROUNDS: usize = 15;
/// The maximum number of rounds, if [`TIME`] allows it.
const MOST_ROUNDS: usize = 101;
const TIME: Duration = Duration::from_secs(3);

/// The speed of walks. Times are medians over the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkRates {
    /// The number of walks of a round.
    pub walks: u32,
    /// The number of rounds of each kind.
    pub rounds: usize,
    /// The average number of steps of a walk.
    pub steps: f64,
    /// The average number of choices of a walk.
    pub choices: f64,
    /// The average number of crashes of a walk.
    pub crashes: f64,
    /// The average number of replies to clients in a walk.
    pub replies: f64,
    /// The average number of disks of the crashes of a walk, over which it chooses.
    pub crash_disks: f64,
    /// The time of a step by explode, in nanoseconds.
    pub step_ns: f64,
    /// The loop by hand. `None` if the target has none.
    pub by_hand: Option<HandRates>,
}

/// The speed of a loop by hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandRates {
    /// The time of a step, in nanoseconds.
    pub step_ns: f64,
    /// The average number of crashes of a walk.
    pub crashes: f64,
    /// The average number of replies to clients in a walk.
    pub replies: f64,
    /// The time of a step by hand divided by the time of one by explode: 1 if explode adds nothing.
    pub share: f64,
}

/// Measures the walks of a plan.
///
/// # Errors
/// The plan makes no walks, or a walk of it fails.
pub fn measure(registry: &Registry, plan: &Plan) -> Result<WalkRates, RunError> {
    let system = open(registry, plan, &InProcess)?;
    let seed = plan.settings.seed;
    let by_hand = HandLoops::of(registry, &plan.checker);
    let mut times: Vec<(f64, Option<f64>)> = Vec::new();
    let (mut all, mut by_hand_crashes, mut by_hand_replies) = (WalkTotals::default(), 0, 0);
    let started = Instant::now();
    while times.len() < ROUNDS || (times.len() < MOST_ROUNDS && started.elapsed() < TIME) {
        let first = times.len() as u64 * u64::from(WALKS);
        let (ns, round) = round(&*system, plan, first)?;
        all.add(&round);
        let hand = by_hand.map(|by_hand| {
            let started = Instant::now();
            let run = by_hand(seed, first..first + u64::from(WALKS));
            by_hand_crashes += run.crashes;
            by_hand_replies += run.replies;
            started.elapsed().as_nanos() as f64 / run.steps as f64
        });
        times.push((ns, hand));
    }
    let walks = (times.len() as u64 * u64::from(WALKS)) as f64;
    let pairs = || times.iter().filter_map(|(ns, hand)| Some((*ns, (*hand)?)));
    let by_hand = median(pairs().map(|(_, hand)| hand)).map(|step_ns| HandRates {
        step_ns,
        crashes: by_hand_crashes as f64 / walks,
        replies: by_hand_replies as f64 / walks,
        share: median(pairs().map(|(ns, hand)| hand / ns)).expect("there is a pair"),
    });
    Ok(WalkRates {
        walks: WALKS,
        rounds: times.len(),
        steps: all.steps as f64 / walks,
        choices: all.choices as f64 / walks,
        crashes: all.crashes as f64 / walks,
        replies: all.replies as f64 / walks,
        crash_disks: all.disks / walks,
        step_ns: median(times.iter().map(|(ns, _)| *ns)).expect("there is a round"),
        by_hand,
    })
}

/// Makes a round of walks from this number on. Returns the time of a step in nanoseconds.
fn round(system: &dyn System, plan: &Plan, first: u64) -> Result<(f64, WalkTotals), RunError> {
    let policy = match plan.strategy()?.next().map(|unit| unit.policy) {
        Some(Policy::Uniform { seed, .. }) => Policy::Uniform { seed, walk: first },
        Some(Policy::Weighted { seed, .. }) => Policy::Weighted { seed, walk: first },
        Some(Policy::Pct { seed, d, k, .. }) => Policy::Pct { seed, d, k, walk: first },
        _ => {
            let text = format!("{} makes no walks of a known policy to measure", plan.target);
            return Err(UsageError(text).into());
        }
    };
    let mut totals = WalkTotals::default();
    let started = Instant::now();
    make_walks(system, policy, (WALKS, plan.settings.depth), &mut totals)?;
    let time = started.elapsed();
    Ok((time.as_nanos() as f64 / totals.steps as f64, totals))
}

/// The sums of a round.
#[derive(Debug, Default)]
struct WalkTotals {
    steps: u64,
    choices: u64,
    crashes: u64,
    replies: u64,
    disks: f64,
}

impl WalkTotals {
    fn add(&mut self, round: &WalkTotals) {
        self.steps += round.steps;
        self.choices += round.choices;
        self.crashes += round.crashes;
        self.replies += round.replies;
        self.disks += round.disks;
    }
}

impl WalkReceiver for WalkTotals {
    fn walked(&mut self, walk: WalkEnd) -> bool {
        self.steps += u64::from(walk.steps);
        self.choices += walk.choices;
        true
    }

    fn crashed(&mut self, disks: &BigUint) {
        self.disks += disks.to_string().parse::<f64>().expect("digits are a number");
    }

    fn tally(&mut self, group: &str, name: &str, count: &ExactCount) {
        let count = || u64::try_from(&count.0).expect("a walk counts no further");
        match (group, name) {
            ("crashes", "crashes") => self.crashes += count(),
            ("clients", "replies") => self.replies += count(),
            _ => {}
        }
    }
}

fn median(times: impl Iterator<Item = f64>) -> Option<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}
