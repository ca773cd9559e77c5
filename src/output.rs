//! Standard output for results, standard error for errors. Invariant: a terminal gets no control
//! characters from names, messages or the output of commands.

use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};
use explode_runtime::base::Exit;
use explode_runtime::plan::Plan;
use explode_runtime::report::{Line, Paste, absolute, escaped};

/// The head of an error on standard error.
pub const ERROR: &str = "error: ";

/// Reports an error and returns the exit code that goes with it. Further lines are indented, so
/// that none looks like another error.
#[expect(clippy::print_stderr, reason = "this prints errors")]
pub fn fail(exit: Exit, error: impl std::fmt::Display) -> Exit {
    eprintln!("{ERROR}{}", escaped(&error.to_string()).replace('\n', "\n  "));
    exit
}

/// Reports a step, beside the results.
#[expect(clippy::print_stderr, reason = "this prints notes")]
pub fn note(text: &str) {
    eprintln!("{}", escaped(text));
}

/// Writes a line of results, or ends the program if that fails. Goes on without a reader, because
/// the files and the exit code still count.
pub fn line(text: &str) {
    finish(try_line(text));
}

/// Writes a line of results as [`line()`] does, its word in colour if colour is wanted. The line
/// must be escaped already.
pub fn styled(line: &Line) {
    finish(write_line(&line.shown(colour())));
}

fn finish(written: io::Result<()>) {
    if let Err(error) = written
        && !is_unread(&error)
    {
        report_output_error(&error);
        std::process::exit(Exit::Broken as i32);
    }
}

/// Writes a line of results.
pub fn try_line(text: &str) -> io::Result<()> {
    write_line(&escaped(text))
}

fn write_line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Returns true if standard output has no reader any more.
pub fn is_unread(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Reports that standard output cannot be written, unless it has no reader any more.
pub fn report_output_error(error: &io::Error) {
    if !is_unread(error) {
        fail(Exit::Broken, format!("cannot write to standard output: {error}"));
    }
}

/// Returns true if results are written in colour: standard output is a terminal that has it, or
/// CLICOLOR_FORCE is set. NO_COLOR and CLICOLOR=0 turn it off.
pub fn colour() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    // The crate uses colours in CI even on a dumb terminal.
    let is_forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    AutoStream::choice(&io::stdout()) != ColorChoice::Never && (is_forced || !is_dumb)
}

/// Returns the commands of this program that the user can paste into a shell, in any folder.
pub fn paste() -> Paste {
    Paste::new(&program())
}

/// Returns the commands about a plan.
pub fn paste_for(plan: &Plan) -> Paste {
    paste().for_plan(plan.mode, &plan.stack, &plan.checker_options)
}

/// Returns a name of this program that a shell finds from any folder: the path with which it was
/// called, made absolute; its bare name if a folder of the PATH has it; else the path of the
/// executable.
pub fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    if called.contains('/') {
        return absolute(&called);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    if folders.any(|folder| folder.is_absolute() && folder.join(&called).is_file())
        && !called.is_empty()
    {
        return called;
    }
    std::env::current_exe().map_or(called, |program| program.display().to_string())
}
