//! Starts the workers of runs and replays: child processes, or guests.

use std::sync::atomic::{AtomicBool, Ordering};

use explode_components::command::ProgramRoot;
use explode_components::fs::kernel;
use explode_components::raid;
use explode_components::vdisk::ramdisk::sizes_mib;
use explode_kernel::remove_left;
use explode_runtime::base::{Mode, RunError};
use explode_runtime::explain::minimise::MinimiseResult;
use explode_runtime::explain::{SearchBounds, Story};
use explode_runtime::plan::Plan;
use explode_runtime::report::Summary;
use explode_runtime::run::{
    Helpers, JobFile, JobFolder, Persistence, Results, RunSink, Supervisor,
};
use explode_runtime::script::{Reproduction, ScriptForm, ScriptRefused};
use explode_runtime::trace::{ReplayResult, ReplaySource, Trace};
use explode_runtime::worker::{Observer, RemoteWorkers, SpawnTransport, WorkerStarted, Workers};
use explode_vm::GuestSpec;

use crate::guest::host;
use crate::{child_worker, diagnostics, progress_line, required_programs};

/// The size of disks for which every guest has memory.
const DISKS_MIB: u64 = 320;

/// The source of a plan's workers. Its parts are built, so starting a worker builds nothing.
pub enum LocalWorkers {
    /// Guests of this kind.
    Guests(Box<GuestSpec>),
    /// Child processes, the root that their commands on simulated files see, and the action after
    /// each.
    Processes(Option<ProgramRoot>, fn()),
}

impl LocalWorkers {
    /// Builds the missing parts of this plan's workers, which may take minutes.
    ///
    /// # Errors
    /// A part of the guest is missing, or a build fails.
    pub fn prepare(plan: &Plan) -> Result<LocalWorkers, RunError> {
        match plan.mode {
            Mode::Vm => {
                let wanted = required_programs::wanted(plan);
                let drivers = [kernel::drivers(&plan.stack), raid::drivers(&plan.stack)].concat();
                let packages = &plan.settings.guest;
                let mut spec =
                    host::worker_spec(plan.settings.deadline_ms, &drivers, packages, &wanted)?;
                // There are live disks and crash disks.
                let disks = (sizes_mib(&plan.stack) * 2).saturating_sub(DISKS_MIB);
                let disks = u32::try_from(disks).unwrap_or(u32::MAX);
                spec.memory_mib = spec.memory_mib.saturating_add(disks);
                spec.kernel_arguments.extend(host::kernel_argument(&plan.stack));
                Ok(LocalWorkers::Guests(Box::new(spec)))
            }
            Mode::Mem => {
                Ok(LocalWorkers::Processes(host::program_root(&plan.settings.guest)?, || {}))
            }
            Mode::Here => Ok(LocalWorkers::Processes(None, remove_left)),
            other => Err(RunError::Missing(format!(
                "this program has no workers for --in {}",
                other.as_str()
            ))),
        }
    }

    /// Returns a function that starts workers. A guest that is given up while it boots is not
    /// waited for.
    fn spawn<'a>(&'a self, is_cancelled: &'a dyn Fn() -> bool) -> Box<SpawnTransport<'a>> {
        match self {
            LocalWorkers::Guests(spec) => Box::new(|| host::boot(spec, is_cancelled)),
            LocalWorkers::Processes(root, afterwards) => {
                Box::new(|| child_worker::spawn(root.as_ref(), *afterwards))
            }
        }
    }
}

/// Explores a plan with `jobs` workers. The sink receives every message.
///
/// # Errors
/// Errors of the run.
pub fn run(
    plan: &Plan,
    local: &LocalWorkers,
    jobs: u32,
    sink: &mut dyn RunSink,
    keep: Persistence,
    interrupt: &AtomicBool,
) -> Result<Summary, RunError> {
    let mut spawn = local.spawn(&never);
    let mut workers = remote(plan, &mut *spawn);
    let mut supervisor = Supervisor::new(plan, &mut workers, sink);
    supervisor.keep = keep;
    supervisor.interrupt = Some(interrupt);
    let helper_workers = |over: &dyn Fn() -> bool, work: &mut dyn FnMut(&mut dyn Workers)| {
        let mut spawn = local.spawn(over);
        let mut workers = remote(plan, &mut *spawn);
        if plan.mode == Mode::Vm {
            // A killed guest leaves nothing behind. A child process may be in the middle of a step.
            workers.cancelled = over;
        }
        work(&mut workers);
    };
    let lost = |why: &str| progress_line::write_above(format!("note: {why}\n").as_bytes());
    if jobs > 1 {
        supervisor.helpers =
            Some(Helpers { count: jobs as usize - 1, with_workers: &helper_workers, lost: &lost });
    }
    supervisor.run()
}

/// Starts the stack of a plan once. Each job of the run begins with its result.
///
/// # Errors
/// The stack does not start.
pub fn first_start(plan: &Plan, workers: &LocalWorkers) -> Result<WorkerStarted, RunError> {
    let mut spawn = workers.spawn(&never);
    explode_runtime::run::first_start(&mut remote(plan, &mut *spawn))
}

/// Runs a job. Returns the contents of its result file.
///
/// # Errors
/// As [`JobFile::run`].
pub fn work(
    job: &JobFile,
    workers: &LocalWorkers,
    interrupt: &AtomicBool,
) -> Result<Vec<u8>, RunError> {
    let mut spawn = workers.spawn(&never);
    let mut workers = remote(job.plan(), &mut *spawn);
    job.run(&mut workers, &|| interrupt.load(Ordering::Relaxed))
}

/// Merges results. Runs units whose worker has died in a worker of this process.
///
/// # Errors
/// Errors of the run.
pub fn merge(
    folder: &JobFolder,
    results: &mut Results,
    workers: &LocalWorkers,
    sink: &mut dyn RunSink,
    keep: Persistence,
    interrupt: &AtomicBool,
) -> Result<Summary, RunError> {
    let plan = folder.plan();
    let mut spawn = workers.spawn(&never);
    let mut workers = remote(plan, &mut *spawn);
    let mut supervisor = Supervisor::new(plan, &mut workers, sink);
    supervisor.keep = keep;
    supervisor.interrupt = Some(interrupt);
    supervisor.elsewhere = Some((results, folder.started().clone()));
    supervisor.run()
}

/// Replays a trace from a source in a fresh worker.
///
/// # Errors
/// As [`run`] and [`LocalWorkers::prepare`], and the trace has no recorded crash.
pub fn replay(trace: &Trace, source: ReplaySource) -> Result<ReplayResult, RunError> {
    let plan = trace.plan();
    let workers = LocalWorkers::prepare(&plan)?;
    let mut spawn = workers.spawn(&never);
    remote(&plan, &mut *spawn).replay_from(trace, source)
}

/// Makes a trace smaller.
///
/// # Errors
/// As [`replay`].
pub fn minimise(trace: &Trace, bounds: SearchBounds) -> Result<MinimiseResult, RunError> {
    let plan = trace.plan();
    let workers = LocalWorkers::prepare(&plan)?;
    let mut spawn = workers.spawn(&never);
    explode_runtime::explain::minimise::minimise(&mut remote(&plan, &mut *spawn), trace, bounds)
}

/// Runs a trace again and returns its story.
///
/// # Errors
/// As [`replay`].
pub fn story(trace: &Trace, bounds: SearchBounds) -> Result<Story, RunError> {
    let plan = trace.plan();
    let workers = LocalWorkers::prepare(&plan)?;
    let mut spawn = workers.spawn(&never);
    explode_runtime::explain::story(&mut remote(&plan, &mut *spawn), trace, bounds)
}

/// Runs a trace again and collects the data for a script of this form.
///
/// # Errors
/// As [`replay`].
pub fn case(
    trace: &Trace,
    form: ScriptForm,
    bounds: SearchBounds,
) -> Result<Result<Reproduction, ScriptRefused>, RunError> {
    // Nothing is built for a trace that is refused.
    if let Err(refused) = explode_runtime::script::refuse(trace) {
        return Ok(Err(refused));
    }
    let plan = trace.plan();
    let workers = LocalWorkers::prepare(&plan)?;
    let mut spawn = workers.spawn(&never);
    explode_runtime::script::collect(&mut remote(&plan, &mut *spawn), trace, form, bounds)
}

/// Returns workers whose diagnostics go to those of this process.
fn remote<'a>(plan: &'a Plan, spawn: &'a mut SpawnTransport<'a>) -> RemoteWorkers<'a> {
    let mut remote = RemoteWorkers::new(plan, spawn);
    remote.observer = diagnostics::observer().map(|observer| observer as &dyn Observer);
    remote
}

fn never() -> bool {
    false
}
