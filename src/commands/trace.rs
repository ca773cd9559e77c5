//! Reading the trace that a command is about.

use std::path::Path;

use explode_runtime::base::{Exit, RunError};
use explode_runtime::plan::Registry;
use explode_runtime::trace::Trace;

use crate::{output, required_programs, trust};

/// Reads a trace that is to be run. Reports what is wrong with it, and what is missing here, before
/// a guest is booted for it; its commands must be the user's own, or be `trusted`.
///
/// # Errors
/// The exit code, after the error was printed.
pub fn read(registry: &Registry, path: &Path, trusted: bool) -> Result<Trace, Exit> {
    let trace = sound(path)?;
    let plan = trace.plan();
    let failed =
        |error: RunError| output::fail(error.exit(), format!("{}: {error}", path.display()));
    plan.check(registry).map_err(failed)?;
    trust::check_trace(path, &trace, trusted).map_err(|error| output::fail(Exit::Usage, error))?;
    required_programs::check(&plan).map_err(failed)?;
    Ok(trace)
}

/// The same, whether it can be run here or not.
///
/// # Errors
/// As [`read`].
pub fn sound(path: &Path) -> Result<Trace, Exit> {
    Trace::read(path)
        .map_err(|error| output::fail(Exit::Usage, format!("{}: {error}", path.display())))
}
