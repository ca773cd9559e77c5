//! Reads the trace that a command names.

use std::path::Path;

use explode_runtime::base::{Exit, RunError};
use explode_runtime::crash_test::command_of_test;
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
    let failed = |error: RunError| {
        let why = of_test(&trace, path).unwrap_or_else(|| error.to_string());
        output::fail(error.exit(), format!("{}: {why}", path.display()))
    };
    plan.check(registry).map_err(failed)?;
    trust::check_trace(path, &trace, trusted).map_err(|error| output::fail(Exit::Usage, error))?;
    required_programs::check(&plan).map_err(failed)?;
    Ok(trace)
}

/// Returns why a trace of a `#[test]` cannot be run by this program, with the command that can.
pub fn of_test(trace: &Trace, path: &Path) -> Option<String> {
    let command = command_of_test(trace, path)?;
    Some(format!(
        "a test has made this trace, and only its program knows '{}'; replay it in the folder of \
         its crate:\n{command}",
        trace.target
    ))
}

/// Reads a trace without checking that it can be run here.
///
/// # Errors
/// As [`read`].
pub fn sound(path: &Path) -> Result<Trace, Exit> {
    Trace::read(path)
        .map_err(|error| output::fail(Exit::Usage, format!("{}: {error}", path.display())))
}
