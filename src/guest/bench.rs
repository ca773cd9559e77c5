//! Measurements in a guest: the host sends tasks and the agent runs them, one JSON object per line
//! in each direction. There is no supervision.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::Instant;

use explode_components::command::show_in_rootfs;
use explode_components::fs::kernel::drivers;
use explode_components::vdisk::ramdisk::sizes_mib;
use explode_kernel::AllBackends;
use explode_runtime::base::{BrokenKind, Exit, Mode, RunError, UsageError};
use explode_runtime::devices::{Backend, Backends as _};
use explode_runtime::plan::{GuestPackages, Plan, Registry};
use explode_runtime::worker::WorkerError;
use explode_vm::{Agent, Guest, GuestReader, GuestWriter};
use itertools::Itertools as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::host::{CONSOLE_LINES, PORT, add_packages, kernel, kernel_argument, run_error, spec};
use crate::bench::{
    BenchReport, EkmCost, RESTORE_MIB, RestoreCost, bench, bench_restore, bench_tracing,
};
use crate::{output, required_programs};

/// A measurement that the host requests.
#[derive(Debug, Serialize, Deserialize)]
enum Task {
    /// Checks of this plan, by rounds of this number of disks.
    Bench(Box<Plan>, u64),
    /// Restores of disks.
    Restore,
    /// The cost of EKM.
    Tracing,
}

/// The result of a task.
#[derive(Debug, Serialize, Deserialize)]
enum Done {
    /// The agent's first message, before any task.
    Ready,
    Bench(Box<BenchReport>),
    Restore(Vec<RestoreCost>),
    Tracing(Option<EkmCost>),
}

/// A guest in which plans are measured, one after the other.
pub struct BenchGuest {
    guest: Guest,
    reader: BufReader<GuestReader>,
    writer: GuestWriter,
}

impl BenchGuest {
    /// Boots a guest with memory for the disks of these plans, and with what their commands need.
    ///
    /// # Errors
    /// A part of the guest is missing, or it does not boot.
    pub fn boot<'a>(plans: impl Iterator<Item = &'a Plan> + Clone) -> Result<BenchGuest, RunError> {
        let stacks = plans.clone().map(|plan| &plan.stack);
        let restore = RESTORE_MIB.into_iter().max().unwrap_or_default();
        let drivers: BTreeSet<&str> = stacks.clone().flat_map(drivers).collect();
        let arguments: BTreeSet<String> = stacks.clone().filter_map(kernel_argument).collect();
        let disks = stacks.map(sizes_mib).max().unwrap_or_default() * SETS;
        let more = u32::try_from(restore + disks).unwrap_or(u32::MAX);
        let mut spec = spec(&kernel(), &Vec::from_iter(drivers)).map_err(run_error)?;
        spec.memory_mib = spec.memory_mib.saturating_add(more);
        spec.kernel_arguments.extend(arguments);
        add_packages(&mut spec, packages(plans.clone())?)?;
        let wanted = required_programs::wanted_by(plans);
        spec.add_programs(&wanted).map_err(run_error)?;
        spec.agent = Some(Agent::this_program(["agent", PORT, "--bench"]));
        let mut guest = Guest::boot(&spec).map_err(run_error)?;
        let (reader, writer) = guest.take_stream().expect("it is taken once");
        let mut guest = BenchGuest { guest, reader: BufReader::new(reader), writer };
        match guest.receive()? {
            Done::Ready => Ok(guest),
            other => Err(guest.lost(&format!("it sent an unexpected result: {other:?}"))),
        }
    }

    /// Measures a plan. Also returns the duration in seconds by this machine's clock.
    ///
    /// # Errors
    /// Errors of the measurement; the guest is lost.
    pub fn bench(&mut self, plan: &Plan, disks: u64) -> Result<(BenchReport, f64), RunError> {
        let started = Instant::now();
        match self.perform(&Task::Bench(Box::new(plan.clone()), disks))? {
            Done::Bench(report) => Ok((*report, started.elapsed().as_secs_f64())),
            other => Err(self.lost(&format!("it sent an unexpected result: {other:?}"))),
        }
    }

    /// Measures restores of disks.
    ///
    /// # Errors
    /// As [`BenchGuest::bench`].
    pub fn restore(&mut self) -> Result<Vec<RestoreCost>, RunError> {
        match self.perform(&Task::Restore)? {
            Done::Restore(restores) => Ok(restores),
            other => Err(self.lost(&format!("it sent an unexpected result: {other:?}"))),
        }
    }

    /// Measures the cost of EKM.
    ///
    /// # Errors
    /// As [`BenchGuest::bench`].
    pub fn tracing(&mut self) -> Result<Option<EkmCost>, RunError> {
        match self.perform(&Task::Tracing)? {
            Done::Tracing(tracing) => Ok(tracing),
            other => Err(self.lost(&format!("it sent an unexpected result: {other:?}"))),
        }
    }

    fn perform(&mut self, task: &Task) -> Result<Done, RunError> {
        send(&mut self.writer, task).map_err(|error| self.lost(&error.to_string()))?;
        self.receive()
    }

    fn receive(&mut self) -> Result<Done, RunError> {
        match receive(&mut self.reader) {
            Ok(Some(done)) => Result::<Done, WorkerError>::map_err(done, Into::into),
            Ok(None) => Err(self.lost("it has ended")),
            Err(error) => Err(self.lost(&error.to_string())),
        }
    }

    /// Returns the error for a guest that is gone or sends an unexpected message.
    fn lost(&self, why: &str) -> RunError {
        let console = self.guest.console_tail(CONSOLE_LINES);
        let why = format!("the guest was lost: {why}; the end of its console:\n{console}");
        BrokenKind::Worker.of(why).into()
    }
}

/// Returns the packages of these plans.
///
/// # Errors
/// Two plans have different ones.
fn packages<'a>(plans: impl Iterator<Item = &'a Plan>) -> Result<&'a GuestPackages, UsageError> {
    let guests: Vec<&GuestPackages> = plans.map(|plan| &plan.settings.guest).dedup().collect();
    match guests[..] {
        [guest] => Ok(guest),
        _ => Err(UsageError(
            "the [guest] of one stack file differs from that of another, and all are measured in \
             one guest; measure them separately"
                .to_owned(),
        )),
    }
}

/// The sets of disks: the live ones, the crash disks and those of the plain loop.
const SETS: u64 = 3;

/// Serves as the agent: runs one task after the other until the host closes the stream.
pub fn serve(registry: &Registry, port: &Path) -> Exit {
    let served = || -> io::Result<()> {
        show_in_rootfs()?;
        let mut writer = OpenOptions::new().read(true).write(true).open(port)?;
        let mut reader: BufReader<File> = BufReader::new(writer.try_clone()?);
        send(&mut writer, &Ok::<_, WorkerError>(Done::Ready))?;
        // All tasks share one backend, because EKM serves one user at a time.
        let backend = AllBackends.open(Mode::Vm);
        while let Some(task) = receive(&mut reader)? {
            let done = match &backend {
                Ok(backend) => perform(registry, &**backend, task).map_err(WorkerError::from),
                Err(error) => Err(WorkerError::Missing(error.to_string())),
            };
            send(&mut writer, &done)?;
        }
        Ok(())
    };
    match served() {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(Exit::Broken, format!("{}: {error}", port.display())),
    }
}

fn perform(registry: &Registry, backend: &dyn Backend, task: Task) -> Result<Done, RunError> {
    match task {
        Task::Bench(plan, disks) => {
            Ok(Done::Bench(Box::new(bench(registry, &plan, backend, disks)?)))
        }
        Task::Restore => bench_restore(backend).map(Done::Restore),
        Task::Tracing => bench_tracing(registry, backend).map(Done::Tracing),
    }
}

fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Receives an object. `None` when the other side has closed the stream.
fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}
