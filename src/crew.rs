//! Where the workers of runs and replays come from: a child process, or a guest.

use std::sync::atomic::AtomicBool;

use explode_components::fs::kernel;
use explode_runtime::devices::remove_left;
use explode_runtime::explain::{Bounds, Story};
use explode_runtime::minimise::Minimised;
use explode_runtime::report::Summary;
use explode_runtime::run::{Audience, Crew, Keep, Mode, Plan, Remote, RunError, Scouts, Spawn, Supervisor};
use explode_runtime::script::{Case, Refused};
use explode_runtime::trace::{Replay, Trace};

use crate::guest::host;
use crate::{programs, running, worker};

/// Explores a plan with so many workers; the audience hears every message.
///
/// # Errors
/// Those of the run; what a guest needs is missing.
pub fn run(
    plan: &Plan,
    jobs: u32,
    audience: &mut dyn Audience,
    keep: Keep,
    interrupt: &AtomicBool,
) -> Result<Summary, RunError> {
    let mut spawn = spawn(plan, &never);
    let mut crew = Remote::new(plan, &mut *spawn);
    let mut supervisor = Supervisor::new(plan, &mut crew, audience);
    supervisor.keep = keep;
    supervisor.interrupt = Some(interrupt);
    let with_crew = |over: &dyn Fn() -> bool, work: &mut dyn FnMut(&mut dyn Crew)| {
        let mut spawn = self::spawn(plan, over);
        let mut crew = Remote::new(plan, &mut *spawn);
        if plan.mode == Mode::Vm {
            // A guest leaves nothing behind; a child process may be in the middle of something.
            crew.given_up = over;
        }
        work(&mut crew);
    };
    let lost = |why: &str| running::write_above(format!("note: {why}\n").as_bytes());
    if jobs > 1 {
        supervisor.scouts = Some(Scouts { count: jobs as usize - 1, with_crew: &with_crew, lost: &lost });
    }
    supervisor.run()
}

/// Replays a trace in a fresh worker.
///
/// # Errors
/// As [`run`].
pub fn replay(trace: &Trace) -> Result<Replay, RunError> {
    let plan = trace.plan();
    let mut spawn = spawn(&plan, &never);
    Remote::new(&plan, &mut *spawn).replay(trace)
}

/// Makes a trace smaller.
///
/// # Errors
/// As [`run`].
pub fn minimise(trace: &Trace, bounds: Bounds) -> Result<Minimised, RunError> {
    let plan = trace.plan();
    let mut spawn = spawn(&plan, &never);
    explode_runtime::minimise::minimise(&mut Remote::new(&plan, &mut *spawn), trace, bounds)
}

/// Runs a trace again, and tells what it shows.
///
/// # Errors
/// As [`run`].
pub fn story(trace: &Trace, bounds: Bounds) -> Result<Story, RunError> {
    let plan = trace.plan();
    let mut spawn = spawn(&plan, &never);
    explode_runtime::explain::story(&mut Remote::new(&plan, &mut *spawn), trace, bounds)
}

/// Runs a trace again, and gathers what a script of it needs.
///
/// # Errors
/// As [`run`].
pub fn case(trace: &Trace, bounds: Bounds) -> Result<Result<Case, Refused>, RunError> {
    let plan = trace.plan();
    let mut spawn = spawn(&plan, &never);
    explode_runtime::script::gather(&mut Remote::new(&plan, &mut *spawn), trace, bounds)
}

/// Starts workers; a guest that is given up while it boots is not waited for.
fn spawn<'a>(plan: &Plan, given_up: &'a dyn Fn() -> bool) -> Box<Spawn<'a>> {
    let deadline_ms = plan.settings.deadline_ms;
    match plan.mode {
        Mode::Vm => {
            let (drivers, wanted) = (kernel::drivers(&plan.stack), programs::wanted(plan));
            Box::new(move || host::spawn(deadline_ms, &drivers, &wanted, given_up))
        }
        Mode::Mem => Box::new(|| worker::spawn(|| {})),
        Mode::Here => Box::new(|| worker::spawn(remove_left)),
    }
}

fn never() -> bool {
    false
}
