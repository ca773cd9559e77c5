//! Checks that are started once and answer for many states, a line each.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;

use explode_fuse::{Answer, Program, Resident};
use explode_runtime::base::{Blame, StepError};

thread_local! {
    /// The checks that run beside this thread, by their commands.
    static RUNNING: RefCell<HashMap<String, RunningCheck>> = RefCell::default();
}

struct RunningCheck {
    program: Resident,
    /// The standard error so far.
    errors: File,
}

/// The verdict of a resident check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResidentVerdict {
    /// `ok`
    Well,
    /// `fail MESSAGE`
    Fails(String),
    /// The check has ended, or has answered something else.
    Ended(String),
}

/// Asks a check about the state at the mount of this thread. The check is started if it does not
/// run.
///
/// # Errors
/// The check cannot be started.
pub fn ask_resident(command: &str, question: &str) -> Result<ResidentVerdict, StepError> {
    let failed = |error: std::io::Error| {
        StepError::new(format!("`{command}` cannot be asked: {error}")).blame(Blame::Tool)
    };
    let running = RUNNING.with_borrow_mut(|running| running.remove(command));
    let running = match running {
        Some(running) => running,
        None => start(command).map_err(failed)?,
    };
    let verdict = match running.program.ask(question).map_err(failed)? {
        Answer::Line(line) if line == "ok" => ResidentVerdict::Well,
        Answer::Line(line) => match line.strip_prefix("fail ") {
            Some(message) => ResidentVerdict::Fails(message.to_owned()),
            None => {
                let text = format!("answered '{line}'; it must be 'ok' or 'fail MESSAGE'");
                return Err(StepError::new(format!("`{command}` {text}")).blame(Blame::Tool));
            }
        },
        Answer::Ended(status) => {
            let why = super::run::last_line(&running.errors);
            let text = format!("`{command}` ended before its answer, with {status}: {why}");
            if matches!(status.code(), Some(126 | 127)) {
                return Err(StepError::new(text).blame(Blame::Tool));
            }
            return Ok(ResidentVerdict::Ended(text));
        }
    };
    RUNNING.with_borrow_mut(|all| all.insert(command.to_owned(), running));
    Ok(verdict)
}

fn start(command: &str) -> std::io::Result<RunningCheck> {
    let errors = tempfile::tempfile()?;
    let program = Resident::start(Program {
        command: command.to_owned(),
        environment: super::program_root::environment(),
        seed: 0,
        files: Vec::new(),
        out: errors.try_clone()?,
        err: errors.try_clone()?,
    })?;
    Ok(RunningCheck { program, errors })
}
