//! What EKM costs the system that is driven: calls on a file system's names, with and without it.
//!
//! Rounds of the same calls alternate on one mounted ext4: EKM does nothing; it records events; it
//! also probes every function that may fail; these may fail, too, and each is asked for, and runs
//! normally. The fastest round of each kind counts: whatever else the machine does only adds. Only
//! the calls are timed: to read what was asked is the harness' own work, timed by itself.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use explode_ramdisk::{Image, Recording};
use serde::{Deserialize, Serialize};

use explode_kernel::{KernelBackend, KernelMachine};
use explode_runtime::base::{Options, RunError, StepError};
use explode_runtime::devices::{Backend, HostId, Side};
use explode_runtime::faults::kernel::KernelFaults;
use explode_runtime::plan::Registry;
use explode_runtime::stack::{Stack, StackSpec};
use explode_runtime::writeset::DeviceRules;

/// Rounds of each kind.
const ROUNDS: usize = 21;
/// How often the calls of [`calls`] are made in a round: their choices have room.
const TIMES: u32 = 60;
/// How many they are.
const CALLS: u32 = 12;

/// What EKM costs. Times are those of the fastest round, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EkmCost {
    /// System calls of a round.
    pub calls: u32,
    /// Choices of the kernel in it.
    pub points: u64,
    /// Rounds of each kind.
    pub rounds: usize,
    /// A call while nothing is recorded and nothing probed.
    pub off_us: f64,
    /// A call while events are recorded, as in every run.
    pub on_us: f64,
    /// A call while every function that may fail is probed, besides.
    pub probed_us: f64,
    /// A call while these may fail, and run normally.
    pub armed_us: f64,
    /// Reading a choice and who asked, for the harness.
    pub read_us: f64,
}

/// Measures it in a backend; none in process, where there is no EKM.
///
/// # Errors
/// There is no ext4, or it cannot be used.
pub fn bench_tracing(
    registry: &Registry,
    backend: &dyn Backend,
) -> Result<Option<EkmCost>, RunError> {
    let Some(kernel) = backend.as_any().downcast_ref::<KernelBackend>() else { return Ok(None) };
    let machine = kernel.machine();
    let spec = StackSpec::default()
        .plug("ramdisk", Options::none())
        .plug("ext4", Options::none().with("fail", "all"));
    let devices = backend.disks(HostId::default(), Side::Live, Image::new(), Recording::On, 0);
    let mut stack = Stack::build(&spec, &registry.components, devices, DeviceRules::default(), 0)?;
    let broken = |fault: StepError| RunError::from(fault.of("tracing"));
    stack.start_first().map_err(broken)?;
    let measured = measure(&stack, machine);
    let stopped = stack.stop().map_err(broken);
    // The next one finds it unchanged.
    machine.record(true).map_err(broken)?;
    measured.and_then(|tracing| stopped.map(|()| Some(tracing)))
}

fn measure(stack: &Stack, machine: &KernelMachine) -> Result<EkmCost, RunError> {
    let broken = |fault: StepError| RunError::from(fault.of("tracing"));
    let path = stack.paths().path.expect("ext4 is mounted somewhere");
    let failures = stack.failures();
    let idle = || round(&path, || Ok(()), || Ok(0)).map_err(broken);
    let mut fastest = [Round::default(); 4];
    for _ in 0..ROUNDS {
        machine.record(false).and_then(|()| machine.probe_nothing()).map_err(broken)?;
        let off = idle()?;
        machine.record(true).map_err(broken)?;
        let on = idle()?;
        machine.probe(&failures)?;
        let probed = idle()?;
        let armed = round(&path, || arm(machine, &failures), || disarm(machine)).map_err(broken)?;
        stack.devices().take_log().map_err(broken)?;
        fastest
            .iter_mut()
            .zip([off, on, probed, armed])
            .for_each(|(fastest, round)| fastest.take(round));
    }
    let a_call = |round: Round| micros(round.calls) / f64::from(TIMES * CALLS);
    let [off, on, probed, armed] = fastest;
    Ok(EkmCost {
        calls: TIMES * CALLS,
        points: armed.points,
        rounds: ROUNDS,
        off_us: a_call(off),
        on_us: a_call(on),
        probed_us: a_call(probed),
        armed_us: a_call(armed),
        read_us: micros(armed.reading) / armed.points.max(1) as f64,
    })
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

fn arm(machine: &KernelMachine, failures: &KernelFaults) -> Result<(), StepError> {
    machine.arm(failures, &[])
}

fn disarm(machine: &KernelMachine) -> Result<u64, StepError> {
    machine.disarm().map(|choices| choices.len() as u64)
}

/// One round, or the best of several.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// How long its calls took.
    calls: Duration,
    /// How long it took to read what was asked.
    reading: Duration,
    /// How much that was.
    points: u64,
}

impl Round {
    /// The better times of both.
    fn take(&mut self, other: Round) {
        let is_first = self.calls.is_zero();
        let best = |own: Duration, other: Duration| if is_first { other } else { own.min(other) };
        (self.calls, self.reading) =
            (best(self.calls, other.calls), best(self.reading, other.reading));
        self.points = other.points;
    }
}

fn round(
    path: &Path,
    before: impl Fn() -> Result<(), StepError>,
    after: impl Fn() -> Result<u64, StepError>,
) -> Result<Round, StepError> {
    let failed = |error: io::Error| StepError::new(format!("{}: {error}", path.display()));
    // To change what is probed changes the kernel's text, which an emulated processor has to read
    // anew.
    (0..TIMES / 2).try_for_each(|_| calls(path)).map_err(failed)?;
    before()?;
    let started = Instant::now();
    let made = (0..TIMES).try_for_each(|_| calls(path));
    let calls = started.elapsed();
    let points = after()?;
    let reading = started.elapsed() - calls;
    made.map_err(failed)?;
    Ok(Round { calls, reading, points })
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
