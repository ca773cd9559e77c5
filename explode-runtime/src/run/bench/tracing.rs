//! What EKM costs the system that is driven: calls on a file system's names, with and without it.
//!
//! Rounds of the same calls alternate on one mounted ext4, so that whatever slows the machine down slows all of them: EKM records
//! nothing and probes nothing; it records, and probes every function that may fail; these may fail, too, and each is asked for, and
//! runs normally. Only the calls are timed: to let functions fail and to read what was asked is the harness' own work, timed by itself.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use explode_ramdisk::{Image, Recording};
use serde::{Deserialize, Serialize};

use super::rounds::median_us;
use crate::devices::{Lab, Machine, Side};
use crate::failures::Failures;
use crate::recover::{Fault, Stack, StackSpec};
use crate::run::{Options, Registry, RunError};
use crate::writeset::Rules;

/// Rounds of each kind.
const ROUNDS: usize = 15;
/// How often the calls of [`calls`] are made in a round; in between their choices are read, as at the end of a mutate.
const TIMES: u32 = 60;
/// How many they are.
const CALLS: u32 = 12;

/// What EKM costs. Times are medians, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tracing {
    /// System calls of a round.
    pub calls: u32,
    /// Choices of the kernel in it.
    pub points: u64,
    /// Rounds of each kind.
    pub rounds: usize,
    /// A call while nothing is recorded and nothing probed.
    pub off_us: f64,
    /// A call while events are recorded, and every function that may fail is probed.
    pub on_us: f64,
    /// A call while these may fail.
    pub armed_us: f64,
    /// How much longer than `off_us` it takes when tracing is on: the median over the rounds, 0.05 is 5 percent.
    pub on_cost: f64,
    /// The same while functions may fail.
    pub armed_cost: f64,
    /// Reading a choice and who asked, for the harness.
    pub read_us: f64,
}

/// Measures it in a lab; none in process, where there is no EKM.
///
/// # Errors
/// There is no ext4, or it cannot be used.
pub fn bench_tracing(registry: &Registry, lab: &Lab) -> Result<Option<Tracing>, RunError> {
    let Lab::Kernel(machine) = lab else { return Ok(None) };
    let spec = StackSpec::default()
        .plug("ramdisk", Options::none())
        .plug("ext4", Options::none().with("fail", "all"));
    let devices = lab.devices(Side::Live, Image::new(), Recording::On, 0);
    let mut stack = Stack::build(&spec, registry, devices, Rules::default(), 0)?;
    let broken = |fault: Fault| RunError::Broken(format!("tracing: {fault}"));
    stack.start_first().map_err(broken)?;
    let measured = measure(&stack, machine);
    let stopped = stack.stop().map_err(broken);
    // The next one finds it as ever.
    machine.record(true).map_err(broken)?;
    measured.and_then(|tracing| stopped.map(|()| Some(tracing)))
}

fn measure(stack: &Stack, machine: &Machine) -> Result<Tracing, RunError> {
    let broken = |fault: Fault| RunError::Broken(format!("tracing: {fault}"));
    let path = stack.paths().path.expect("ext4 is mounted somewhere");
    let failures = stack.failures();
    let mut rounds = Vec::new();
    // The first one warms up.
    for _ in 0..=ROUNDS {
        machine.record(false).and_then(|()| machine.probe_nothing()).map_err(broken)?;
        let off = round(&path, || Ok(0), || Ok(())).map_err(broken)?;
        machine.record(true).map_err(broken)?;
        machine.probe(&failures)?;
        let on = round(&path, || Ok(0), || Ok(())).map_err(broken)?;
        stack.devices().take_log().map_err(broken)?;
        let armed = round(&path, || disarm(machine), || arm(machine, &failures)).map_err(broken)?;
        stack.devices().take_log().map_err(broken)?;
        rounds.push((off, on, armed));
    }
    rounds.remove(0);
    let median = |of: &dyn Fn(&(Round, Round, Round)) -> Duration| {
        let mut times: Vec<Duration> = rounds.iter().map(of).collect();
        median_us(&mut times).expect("there are rounds")
    };
    let cost = |of: &dyn Fn(&(Round, Round, Round)) -> Duration| {
        let costs = rounds.iter().map(|round| of(round).as_secs_f64() / round.0.calls.as_secs_f64() - 1.0);
        let mut costs: Vec<f64> = costs.collect();
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    };
    let calls = TIMES * CALLS;
    let points = rounds[0].2.points;
    Ok(Tracing {
        calls,
        points,
        rounds: rounds.len(),
        off_us: median(&|(off, _, _)| off.calls / calls),
        on_us: median(&|(_, on, _)| on.calls / calls),
        armed_us: median(&|(_, _, armed)| armed.calls / calls),
        on_cost: cost(&|(_, on, _)| on.calls),
        armed_cost: cost(&|(_, _, armed)| armed.calls),
        read_us: median(&|(_, _, armed)| armed.between / u32::try_from(points.max(1)).unwrap_or(u32::MAX)),
    })
}

fn arm(machine: &Machine, failures: &Failures) -> Result<(), Fault> {
    machine.arm(failures, 1, &[])
}

fn disarm(machine: &Machine) -> Result<u64, Fault> {
    machine.disarm().map(|choices| choices.len() as u64)
}

/// One round.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// How long its calls took.
    calls: Duration,
    /// How long it took between them.
    between: Duration,
    /// What was read there.
    points: u64,
}

fn round(
    path: &Path,
    after: impl Fn() -> Result<u64, Fault>,
    before: impl Fn() -> Result<(), Fault>,
) -> Result<Round, Fault> {
    let mut round = Round { calls: Duration::ZERO, between: Duration::ZERO, points: 0 };
    for _ in 0..TIMES {
        before()?;
        let started = Instant::now();
        let made = calls(path);
        round.calls += started.elapsed();
        made.map_err(|error| Fault::new(format!("{}: {error}", path.display())))?;
        let started = Instant::now();
        round.points += after()?;
        round.between += started.elapsed();
    }
    Ok(round)
}

/// Twelve calls on names; what they make they take away again.
fn calls(path: &Path) -> io::Result<()> {
    let [folder, file, link, other] =
        ["folder", "folder/file", "folder/link", "folder/other"].map(|name| path.join(name));
    fs::create_dir(&folder)?;
    // open, write, close
    File::create(&file)?.write_all(b"metadata")?;
    fs::hard_link(&file, &link)?;
    fs::rename(&link, &other)?;
    // open, close
    File::open(&other)?;
    fs::metadata(&file)?;
    fs::remove_file(&other)?;
    fs::remove_file(&file)?;
    fs::remove_dir(&folder)
}
