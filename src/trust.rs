//! Trust in shell commands: traces and folders with a tag of this user's key run their commands.
//! Others have their commands listed, and run only with `--trust` (`docs/reference/trust.md`).
//!
//! Invariant: [`check`] comes before anything that a trace or folder names is run or booted.

mod key;

use std::fmt;
use std::path::Path;

use explode_runtime::base::{Mode, UsageError, quoted};
use explode_runtime::plan::Plan;
use explode_runtime::report::one_line;
use explode_runtime::stack::Carried;
use explode_runtime::trace::{Secret, Trace};

use crate::output;

/// A trace or folder that carries commands.
pub struct Carrier<'a> {
    /// The noun for messages: `trace`, `run`, `matrix`.
    pub kind: &'a str,
    /// The path that the user named.
    pub path: &'a Path,
    /// The commands.
    pub commands: Vec<Carried>,
    /// The mode in which they would run. `None` if each system has its mode.
    pub mode: Option<Mode>,
}

/// Returns the user's secret for data that carries commands, and makes it if it is missing. `None`
/// without commands. If there can be no secret, warns the user: the data then has no tag.
pub fn secret(commands: &[Carried]) -> Option<Secret> {
    if commands.is_empty() {
        return None;
    }
    key::make().map_err(|error| output::note(&format!("warning: {error}; {UNTAGGED}"))).ok()
}

const UNTAGGED: &str = "output has no tag, so it is replayed and resumed only with --trust";

/// Checks a trace before its commands run.
///
/// # Errors
/// As [`check`].
pub fn check_trace(path: &Path, trace: &Trace, trusted: bool) -> Result<(), UsageError> {
    let carrier =
        Carrier { kind: "trace", path, commands: trace.commands(), mode: Some(trace.mode) };
    check(&carrier, trace.tag.is_some(), |secret| trace.is_tagged_by(secret), trusted)
}

/// Checks the run in a folder before its commands run.
///
/// # Errors
/// As [`check`].
pub fn check_run(folder: &Path, plan: &Plan, trusted: bool) -> Result<(), UsageError> {
    let carrier =
        Carrier { kind: "run", path: folder, commands: plan.commands(), mode: Some(plan.mode) };
    let tagged = |secret: &Secret| explode_runtime::run::is_tagged(folder, plan, secret);
    check(&carrier, true, tagged, trusted)
}

/// Returns an error unless the carrier has no commands, the user trusts it, or its tag is by the
/// user's key.
///
/// # Errors
/// The error lists the commands and what to do.
pub fn check(
    carrier: &Carrier<'_>,
    has_tag: bool,
    is_tagged: impl Fn(&Secret) -> bool,
    trusted: bool,
) -> Result<(), UsageError> {
    if carrier.commands.is_empty() || trusted {
        return Ok(());
    }
    let reason = match key::read() {
        _ if !has_tag => "it has no tag of your key".to_owned(),
        Ok(secret) if is_tagged(&secret) => return Ok(()),
        Ok(_) => "it has no tag of your key, or was changed since".to_owned(),
        Err(error) => format!("its tag cannot be checked: {error}"),
    };
    Err(UsageError(Refused { carrier, reason }.to_string()))
}

/// A refusal: the commands of a carrier that is not trusted, and what to do.
struct Refused<'a> {
    carrier: &'a Carrier<'a>,
    reason: String,
}

impl fmt::Display for Refused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { carrier: Carrier { kind, path, commands, mode }, reason } = self;
        let path = path.display().to_string();
        writeln!(f, "{}: this {kind} runs shell commands, and {reason}", one_line(&path))?;
        for Carried { place, text } in commands {
            writeln!(f, "  {}: {}", one_line(place), one_line(text))?;
        }
        write!(f, "They run {}. Read them; if you want them to run, add --trust.", place(*mode))
    }
}

/// Returns the place where commands run, and their user.
fn place(mode: Option<Mode>) -> &'static str {
    match mode {
        Some(Mode::Vm) => "as root, in a guest",
        Some(Mode::Mem) => "on this machine, with all your rights",
        Some(Mode::Here) => "on this machine, as root",
        _ => "in a guest as root, or on this machine with all your rights",
    }
}

/// Returns why `show` does not run a trace with commands by default.
pub fn why_not_run(path: &Path) -> String {
    let path = quoted(&path.display().to_string());
    format!(
        "it carries shell commands; `{} show --run {path}` runs them, and tells the whole story",
        quoted(&output::program())
    )
}
