//! Exploring in the caller's thread: supervisor and worker in one, for users of the library.

use super::sink::RunSink;
use super::supervisor::Supervisor;
use crate::base::RunError;
use crate::devices::Backend;
use crate::explore::Strategy;
use crate::plan::{Plan, Registry};
use crate::report::Summary;
use crate::worker::InThreadWorkers;

/// Explores a plan in a backend to its end, or until a bound or the budget stops it. The sink
/// receives every message. There are no deadlines, and the run cannot be resumed. [`Supervisor`]
/// offers both.
///
/// # Errors
/// The plan is wrong, a component cannot start, or the run folder cannot be written. Earlier
/// findings are in the folder and were reported. The error has the traces that could not be
/// written.
pub fn explore(
    registry: &Registry,
    plan: &Plan,
    backend: &dyn Backend,
    sink: &mut dyn RunSink,
) -> Result<Summary, RunError> {
    explore_with(registry, plan, backend, sink, None)
}

/// Explores a plan like [`explore`], with a strategy of the caller, which the plan calls
/// [`StrategyName::Own`](crate::explore::StrategyName::Own).
///
/// # Errors
/// As [`explore`], or the plan names another strategy.
pub fn explore_by(
    strategy: Box<dyn Strategy>,
    registry: &Registry,
    plan: &Plan,
    backend: &dyn Backend,
    sink: &mut dyn RunSink,
) -> Result<Summary, RunError> {
    explore_with(registry, plan, backend, sink, Some(strategy))
}

fn explore_with(
    registry: &Registry,
    plan: &Plan,
    backend: &dyn Backend,
    sink: &mut dyn RunSink,
    strategy: Option<Box<dyn Strategy>>,
) -> Result<Summary, RunError> {
    plan.check(registry)?;
    let mut workers = InThreadWorkers::new(registry, plan, backend);
    let mut supervisor = Supervisor::new(plan, &mut workers, sink);
    supervisor.strategy = strategy;
    supervisor.run()
}
