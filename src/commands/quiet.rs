//! One of several runs of a command: only its progress is shown.

use std::path::Path;

use explode_runtime::base::{RunError, UsageError};
use explode_runtime::plan::Plan;
use explode_runtime::report::{Message, Summary};
use explode_runtime::run::{LocalSink, Persistence};

use super::run;
use crate::cli::RunArgs;
use crate::workers::LocalWorkers;
use crate::{interrupt, trust, workers};

/// Explores a plan in a run folder of its own. `listen` gets all messages.
pub fn explore(
    plan: &Plan,
    jobs: u32,
    listen: &mut dyn FnMut(&Message),
) -> Result<Summary, RunError> {
    let commands = plan.commands();
    let secret = trust::secret(&commands);
    let is_untagged = secret.is_none() && !commands.is_empty();
    let mut replay = |trace: &Path| run::confirm(trace, is_untagged);
    let mut sink = LocalSink::new(None, &mut replay, listen);
    secret.iter().for_each(|secret| sink.tag_with(secret, plan));
    interrupt::by_default();
    let local = LocalWorkers::prepare(plan)?;
    let interrupt = interrupt::watch();
    workers::run(plan, &local, jobs, &mut sink, Persistence::Journal, interrupt)
}

/// Checks that no option names a file or a folder of a single run. `who` makes several.
pub fn check_options(args: &RunArgs, who: &str) -> Result<(), UsageError> {
    let given = [
        ("--resume", args.resume.is_some()),
        ("--plan", args.plan.is_some()),
        ("--out", args.out.is_some()),
        ("--events", args.events.is_some()),
        ("--junit", args.junit.is_some()),
        ("--timeline", args.timeline.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(UsageError(format!(
            "{option} is for a single run, and {who}; omit it, or use `explode run`"
        ))),
    }
}
