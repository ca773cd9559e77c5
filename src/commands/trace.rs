//! Reads the trace that a command names.

use std::path::Path;

use explode_runtime::base::{Exit, RunError};
use explode_runtime::plan::Registry;
use explode_runtime::trace::Trace;

use crate::{output, required_programs, trust};

/// Reads a trace that is to be run. Reports an invalid trace and missing programs before a guest is
/// booted. Its commands must be the user's own, or `trusted`.
///
/// # Errors
/// The exit code, after the error is printed.
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

/// Reads a trace without checking that it can be run here.
///
/// # Errors
/// As [`read`].
pub fn sound(path: &Path) -> Result<Trace, Exit> {
    Trace::read(path)
        .map_err(|error| output::fail(Exit::Usage, format!("{}: {error}", path.display())))
}
