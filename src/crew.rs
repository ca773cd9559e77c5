//! Starts the workers of runs and replays: child processes, or guests.

use std::sync::atomic::{AtomicBool, Ordering};

use explode_components::fs::kernel;
use explode_kernel::remove_left;
use explode_runtime::base::{Mode, RunError};
use explode_runtime::explain::minimise::Minimised;
use explode_runtime::explain::{Bounds, Story};
use explode_runtime::plan::Plan;
use explode_runtime::report::Summary;
use explode_runtime::run::{Audience, Helpers, JobFile, JobFolder, Keep, Results, Supervisor};
use explode_runtime::script::{Case, Refused};
use explode_runtime::trace::{Replay, Trace};
use explode_runtime::worker::{Crew, Observer, Remote, Spawn, Started};
use explode_vm::GuestSpec;

use crate::guest::host;
use crate::{diagnostics, programs, running, worker};

/// What the workers of a plan are started from. All that they need is built by then, so no build is
/// repeated with a worker.
pub enum Workers {
    /// Guests.
    Guests(Box<GuestSpec>),
    /// Child processes, and what is done after each.
    Processes(fn()),
}

impl Workers {
    /// Builds what the workers of this plan need and is not there yet, which may take minutes.
    ///
    /// # Errors
    /// What a guest needs is missing; a build fails.
    pub fn prepare(plan: &Plan) -> Result<Workers, RunError> {
        match plan.mode {
            Mode::Vm => {
                let (drivers, wanted) = (kernel::drivers(&plan.stack), programs::wanted(plan));
                let spec = host::worker_spec(plan.settings.deadline_ms, &drivers, &wanted)?;
                Ok(Workers::Guests(Box::new(spec)))
            }
            Mode::Mem => Ok(Workers::Processes(|| {})),
            Mode::Here => Ok(Workers::Processes(remove_left)),
            other => Err(RunError::Missing(format!(
                "this program has no workers for --in {}",
                other.as_str()
            ))),
        }
    }

    /// Starts workers; a guest that is given up while it boots is not waited for.
    fn spawn<'a>(&'a self, given_up: &'a dyn Fn() -> bool) -> Box<Spawn<'a>> {
        match self {
            Workers::Guests(spec) => Box::new(|| host::boot(spec, given_up)),
            Workers::Processes(afterwards) => Box::new(|| worker::spawn(*afterwards)),
        }
    }
}

/// Explores a plan with so many workers; the audience hears every message.
///
/// # Errors
/// Those of the run.
pub fn run(
    plan: &Plan,
    workers: &Workers,
    jobs: u32,
    audience: &mut dyn Audience,
    keep: Keep,
    interrupt: &AtomicBool,
) -> Result<Summary, RunError> {
    let mut spawn = workers.spawn(&never);
    let mut crew = remote(plan, &mut *spawn);
    let mut supervisor = Supervisor::new(plan, &mut crew, audience);
    supervisor.keep = keep;
    supervisor.interrupt = Some(interrupt);
    let with_crew = |over: &dyn Fn() -> bool, work: &mut dyn FnMut(&mut dyn Crew)| {
        let mut spawn = workers.spawn(over);
        let mut crew = remote(plan, &mut *spawn);
        if plan.mode == Mode::Vm {
            // A guest leaves nothing behind; a child process may be in the middle of something.
            crew.given_up = over;
        }
        work(&mut crew);
    };
    let lost = |why: &str| running::write_above(format!("note: {why}\n").as_bytes());
    if jobs > 1 {
        supervisor.helpers =
            Some(Helpers { count: jobs as usize - 1, with_crew: &with_crew, lost: &lost });
    }
    supervisor.run()
}

/// Starts the stack of a plan once: what each job of the run begins with.
///
/// # Errors
/// It does not start.
pub fn first_start(plan: &Plan, workers: &Workers) -> Result<Started, RunError> {
    let mut spawn = workers.spawn(&never);
    explode_runtime::run::first_start(&mut remote(plan, &mut *spawn))
}

/// Runs a job. Returns the file of its result.
///
/// # Errors
/// As [`JobFile::run`].
pub fn work(job: &JobFile, workers: &Workers, interrupt: &AtomicBool) -> Result<Vec<u8>, RunError> {
    let mut spawn = workers.spawn(&never);
    let mut crew = remote(job.plan(), &mut *spawn);
    job.run(&mut crew, &|| interrupt.load(Ordering::Relaxed))
}

/// Merges results; units of which a worker has died are run here.
///
/// # Errors
/// Those of the run.
pub fn merge(
    folder: &JobFolder,
    results: &mut Results,
    workers: &Workers,
    audience: &mut dyn Audience,
    keep: Keep,
    interrupt: &AtomicBool,
) -> Result<Summary, RunError> {
    let plan = folder.plan();
    let mut spawn = workers.spawn(&never);
    let mut crew = remote(plan, &mut *spawn);
    let mut supervisor = Supervisor::new(plan, &mut crew, audience);
    supervisor.keep = keep;
    supervisor.interrupt = Some(interrupt);
    supervisor.elsewhere = Some((results, folder.started().clone()));
    supervisor.run()
}

/// Replays a trace in a fresh worker.
///
/// # Errors
/// As [`run`] and [`Workers::prepare`].
pub fn replay(trace: &Trace) -> Result<Replay, RunError> {
    let plan = trace.plan();
    let workers = Workers::prepare(&plan)?;
    let mut spawn = workers.spawn(&never);
    remote(&plan, &mut *spawn).replay(trace)
}

/// Makes a trace smaller.
///
/// # Errors
/// As [`replay`].
pub fn minimise(trace: &Trace, bounds: Bounds) -> Result<Minimised, RunError> {
    let plan = trace.plan();
    let workers = Workers::prepare(&plan)?;
    let mut spawn = workers.spawn(&never);
    explode_runtime::explain::minimise::minimise(&mut remote(&plan, &mut *spawn), trace, bounds)
}

/// Runs a trace again, and tells what it shows.
///
/// # Errors
/// As [`replay`].
pub fn story(trace: &Trace, bounds: Bounds) -> Result<Story, RunError> {
    let plan = trace.plan();
    let workers = Workers::prepare(&plan)?;
    let mut spawn = workers.spawn(&never);
    explode_runtime::explain::story(&mut remote(&plan, &mut *spawn), trace, bounds)
}

/// Runs a trace again, and gathers what a script of it needs.
///
/// # Errors
/// As [`replay`].
pub fn case(trace: &Trace, bounds: Bounds) -> Result<Result<Case, Refused>, RunError> {
    let plan = trace.plan();
    let workers = Workers::prepare(&plan)?;
    let mut spawn = workers.spawn(&never);
    explode_runtime::script::gather(&mut remote(&plan, &mut *spawn), trace, bounds)
}

/// Workers whose diagnostics go where those of this process go.
fn remote<'a>(plan: &'a Plan, spawn: &'a mut Spawn<'a>) -> Remote<'a> {
    let mut remote = Remote::new(plan, spawn);
    remote.observer = diagnostics::observer().map(|observer| observer as &dyn Observer);
    remote
}

fn never() -> bool {
    false
}
