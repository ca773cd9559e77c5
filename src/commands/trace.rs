//! Reading the trace that a command is about.

use std::path::Path;

use explode_runtime::run::{Exit, Registry};
use explode_runtime::trace::Trace;

use crate::{output, programs};

/// Reads it. What is wrong with it is said before a guest is booted for it, and what is missing here.
///
/// # Errors
/// The exit code, after that was said.
pub fn read(registry: &Registry, path: &Path) -> Result<Trace, Exit> {
    let trace = sound(path)?;
    let plan = trace.plan();
    match plan.check(registry).and_then(|()| programs::check(&plan)) {
        Ok(()) => Ok(trace),
        Err(error) => Err(output::fail(error.exit(), format!("{}: {error}", path.display()))),
    }
}

/// The same, whether it can be run here or not.
///
/// # Errors
/// As [`read`].
pub fn sound(path: &Path) -> Result<Trace, Exit> {
    Trace::read(path).map_err(|error| output::fail(Exit::Usage, format!("{}: {error}", path.display())))
}
