//! The host's side of a guest: boots it, gives it tasks, and answers its calls.

use std::io::{self, BufReader, BufWriter};
use std::time::Instant;

use explode_runtime::recover::StackSpec;
use explode_runtime::report::{Message, Summary};
use explode_runtime::run::{Audience, BenchReport, Plan, RESTORE_MIB, Restore, RunError, UsageError};
use explode_runtime::trace::{Replay, Trace};
use explode_vm::{
    Agent, BuildOptions, Builder, Cache, Guest, GuestReader, GuestSpec, GuestWriter, KernelSource, VmError,
    Wanted, qemu,
};

use super::wire::{Answer, Call, Done, Task, receive, send};
use crate::programs;
use crate::progress::Bar;

/// The port that leads from the agent to the host.
const PORT: &str = "/dev/virtio-ports/explode";
/// Lines of the console that a lost guest leaves in the message.
const CONSOLE_LINES: usize = 25;

/// Runs a plan in a guest; the audience hears every message.
///
/// # Errors
/// Those of the run; what a guest needs is missing; the guest was lost.
pub fn run(plan: &Plan, audience: &mut dyn Audience) -> Result<Summary, RunError> {
    let mut remote = Remote::boot(0, &programs::wanted(plan))?;
    let mut summary = None;
    match remote.perform(
        &Task::Run(Box::new(plan.clone()), audience.wants_events()),
        audience,
        &mut summary,
    )? {
        Done::Run => {
            summary.ok_or_else(|| RunError::Broken("the guest ended its run without a summary".to_owned()))
        }
        _ => Err(another_task()),
    }
}

/// Replays a trace in a fresh guest.
///
/// # Errors
/// As [`run`].
pub fn replay(trace: &Trace) -> Result<Replay, RunError> {
    let mut remote = Remote::boot(0, &programs::wanted(&trace.plan()))?;
    match remote.perform(&Task::Replay(Box::new(trace.clone())), &mut Nobody, &mut None)? {
        Done::Replay(outcome) => Ok(outcome),
        _ => Err(another_task()),
    }
}

/// A guest in which plans are measured, one after the other.
pub struct Bench(Remote);

impl Bench {
    /// With memory for the disks of these stacks.
    ///
    /// # Errors
    /// As [`run`].
    pub fn boot<'a>(stacks: impl Iterator<Item = &'a StackSpec>) -> Result<Bench, RunError> {
        let restore = RESTORE_MIB.into_iter().max().unwrap_or_default();
        let disks = stacks.map(memory_of_disks_mib).max().unwrap_or_default();
        let more = u32::try_from(restore + disks).unwrap_or(u32::MAX);
        Remote::boot(more, &[]).map(Bench)
    }

    /// Measures a plan; also returns how many seconds that took by this machine's clock.
    ///
    /// # Errors
    /// As [`run`].
    pub fn bench(&mut self, plan: &Plan, disks: u64) -> Result<(BenchReport, f64), RunError> {
        let started = Instant::now();
        match self.0.perform(&Task::Bench(Box::new(plan.clone()), disks), &mut Nobody, &mut None)? {
            Done::Bench(report) => Ok((*report, started.elapsed().as_secs_f64())),
            _ => Err(another_task()),
        }
    }

    /// Measures restoring disks.
    ///
    /// # Errors
    /// As [`run`].
    pub fn restore(&mut self) -> Result<Vec<Restore>, RunError> {
        match self.0.perform(&Task::BenchRestore, &mut Nobody, &mut None)? {
            Done::BenchRestore(restores) => Ok(restores),
            _ => Err(another_task()),
        }
    }
}

/// What the disks of a stack take, where it says how large they are: those of the live stack, of the crash disk's, and the plain
/// loop's.
fn memory_of_disks_mib(stack: &StackSpec) -> u64 {
    let sectors = stack.0.iter().map(|layer| layer.options.int("sectors", 0).unwrap_or(0));
    sectors.sum::<u64>().div_ceil(2048) * 3
}

fn another_task() -> RunError {
    RunError::Broken("the guest has done another task".to_owned())
}

/// The kernel that runs in guests: the tree that `EXPLODE_KERNEL` names, else explode's own.
pub fn kernel() -> KernelSource {
    match std::env::var_os("EXPLODE_KERNEL").filter(|tree| !tree.is_empty()) {
        Some(tree) => KernelSource::Tree(tree.into()),
        None => KernelSource::Debian,
    }
}

/// What a guest is made of, built as far as it is not there yet.
///
/// # Errors
/// What is missing, and what to do.
pub fn spec(source: &KernelSource) -> Result<GuestSpec, VmError> {
    let (cache, options, progress) = (Cache::of_user()?, BuildOptions::of_environment()?, Bar::default());
    let builder = Builder { cache: &cache, options: &options, progress: &progress };
    // Before a kernel is built that nothing could run.
    qemu()?;
    let kernel = builder.kernel(source)?;
    let mut spec = GuestSpec::new(&kernel, &builder.image()?);
    spec.modules = Some(builder.modules(&kernel)?);
    spec.accelerator = builder.accelerator(&kernel, &spec.image)?;
    Ok(spec)
}

/// A guest with an agent that waits for a task.
struct Remote {
    guest: Guest,
    reader: BufReader<GuestReader>,
    writer: BufWriter<GuestWriter>,
}

impl Remote {
    /// With so many MiB of memory more than usual, and these programs of the host's.
    fn boot(more_mib: u32, wanted: &[Wanted]) -> Result<Remote, RunError> {
        let mut spec = spec(&kernel()).map_err(run_error)?;
        spec.memory_mib = spec.memory_mib.saturating_add(more_mib);
        spec.add_programs(wanted).map_err(run_error)?;
        spec.agent = Some(Agent::this_program(["agent", PORT]));
        let mut guest = Guest::boot(&spec).map_err(run_error)?;
        let (reader, writer) = guest.take_stream().expect("nobody has taken it yet");
        let mut remote = Remote { guest, reader: BufReader::new(reader), writer: BufWriter::new(writer) };
        match receive(&mut remote.reader) {
            Ok(Some(Call::Ready(_))) => Ok(remote),
            Ok(other) => Err(remote.lost(&format!("it said {other:?}"))),
            Err(error) => Err(remote.lost(&error.to_string())),
        }
    }

    fn perform(
        &mut self,
        task: &Task,
        audience: &mut dyn Audience,
        summary: &mut Option<Summary>,
    ) -> Result<Done, RunError> {
        self.send(task)?;
        loop {
            let answer = match self.receive()? {
                Call::Ready(version) => return Err(self.lost(&format!("it began again, as {version}"))),
                Call::Open(target) => Answer::At(audience.open(&target)?),
                Call::Tell(message) => {
                    if let Message::Summary(said) = &*message {
                        *summary = Some(said.clone());
                    }
                    audience.tell(&message)?;
                    Answer::Ok
                }
                Call::Keep(id, trace) => Answer::At(audience.keep(&id, &trace)?),
                Call::Confirm(path) => Answer::Confirmed(audience.confirm(&path)),
                Call::Events(events) => {
                    audience.events(&events)?;
                    Answer::Ok
                }
                Call::Done(done) => return done.map_err(Into::into),
            };
            self.send(&answer)?;
        }
    }

    fn send(&mut self, what: &impl serde::Serialize) -> Result<(), RunError> {
        send(&mut self.writer, what).map_err(|error| self.lost(&error.to_string()))
    }

    fn receive(&mut self) -> Result<Call, RunError> {
        match receive(&mut self.reader) {
            Ok(Some(call)) => Ok(call),
            Ok(None) => Err(self.lost("it has ended")),
            Err(error) => Err(self.lost(&error.to_string())),
        }
    }

    /// The guest is gone, or talks nonsense.
    fn lost(&self, why: &str) -> RunError {
        let console = self.guest.console_tail(CONSOLE_LINES);
        RunError::Broken(format!("the guest was lost: {why}; the end of its console:\n{console}"))
    }
}

/// A replay has nothing to tell, nor has a measurement.
struct Nobody;

impl Audience for Nobody {
    fn open(&mut self, _target: &str) -> Result<std::path::PathBuf, RunError> {
        Err(unasked())
    }

    fn tell(&mut self, _message: &Message) -> Result<(), RunError> {
        Err(unasked())
    }

    fn keep(&mut self, _id: &str, _trace: &Trace) -> Result<std::path::PathBuf, RunError> {
        Err(unasked())
    }

    fn confirm(&mut self, _trace: &std::path::Path) -> explode_runtime::run::Confirmation {
        explode_runtime::run::Confirmation::Not(unasked().to_string())
    }
}

fn unasked() -> RunError {
    RunError::Broken(
        io::Error::other("the guest wants to tell something that nobody has asked for").to_string(),
    )
}

/// An error of the guest's parts, as one of a run.
pub fn run_error(error: VmError) -> RunError {
    match error.kind() {
        explode_vm::Kind::Missing => RunError::Missing(error.to_string()),
        explode_vm::Kind::Broken => RunError::Broken(error.to_string()),
        explode_vm::Kind::Usage => UsageError(error.to_string()).into(),
    }
}
