//! The cost of EKM for the driven system: calls on a file system's names, with and without EKM.
//!
//! Rounds of the same calls alternate on one mounted ext4. EKM is off, or records events, or also
//! probes every function that may fail, or also offers each failure as a choice, where every
//! function then runs normally. The fastest round of each kind counts, because other load only adds
//! time. Only the calls are timed. Reading the choices is the harness's own work and timed by
//! itself.

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

/// The number of rounds of each kind.
const ROUNDS: usize = 21;
/// The number of times that a round makes the calls of [`calls`]. Their choices fit into EKM's log.
const TIMES: u32 = 60;
/// The number of calls in [`calls`].
const CALLS: u32 = 12;

/// The cost of EKM. Times are those of the fastest round, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EkmCost {
    /// The number of system calls of a round.
    pub calls: u32,
    /// The number of choices of the kernel in an armed round.
    pub points: u64,
    /// The number of rounds of each kind.
    pub rounds: usize,
    /// The time of a call while EKM neither records nor probes.
    pub off_us: f64,
    /// The time of a call while EKM records events, as in every run.
    pub on_us: f64,
    /// The time of a call while EKM also probes every function that may fail.
    pub probed_us: f64,
    /// The time of a call while these functions may fail, and all run normally.
    pub armed_us: f64,
    /// The time in which the harness reads one choice with its call stack.
    pub read_us: f64,
}

/// Measures EKM in a backend. Returns `None` in process, where there is no EKM.
///
/// # Errors
/// ext4 is missing or cannot be used.
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
    // Later measurements expect EKM to record.
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

/// One round, or the best times of several.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The duration of its calls.
    calls: Duration,
    /// The time to read its choices.
    reading: Duration,
    /// The number of its choices.
    points: u64,
}

impl Round {
    /// Keeps the better time of each kind.
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
    // A change of the probes changes the kernel's text. An emulated processor must translate it
    // again, so some calls come before the clock starts.
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

/// Makes twelve calls on names, and removes all that they create.
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
