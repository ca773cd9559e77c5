//! Reads the trace that a command names.

use std::path::Path;

use explode_runtime::base::{Exit, Mode, RunError};
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
    read_in(registry, path, trusted, None)
}

/// Reads a trace like [`read`], to run it in this mode if it can run there.
///
/// # Errors
/// As [`read`]; and only a cluster is the same system in another mode.
pub fn read_in(
    registry: &Registry,
    path: &Path,
    trusted: bool,
    mode: Option<Mode>,
) -> Result<Trace, Exit> {
    let mut trace = sound(path)?;
    let found = trace.mode;
    trace.mode = mode.unwrap_or(found);
    let plan = trace.plan();
    if let Ok(checker) = registry.checker_of(&plan)
        && trace.mode != found
        && !checker.has_own_system
    {
        let (target, found) = (&trace.target, found.as_str());
        let text = format!(
            "'{target}' was run in {found}, and is another system elsewhere; omit --in, which is \
             for clusters"
        );
        return Err(output::fail(Exit::Usage, format!("{}: {text}", path.display())));
    }
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
