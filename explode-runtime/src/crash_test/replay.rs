//! Traces of crash tests: the folder that keeps them, and the command that replays one.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::{RunError, durable_write, quoted};
use crate::report::absolute;
use crate::trace::{Trace, TraceError};
use xxhash_rust::xxh3::xxh3_64;

/// The environment variable with the path of a finding's trace. The test that made the finding
/// replays it.
pub const REPLAY: &str = "EXPLODE_REPLAY";

/// Returns the folder for traces: `explode-traces` in the build folder of this program.
pub(super) fn folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let mut folder = program.parent().map_or_else(env::temp_dir, Path::to_owned);
    if folder.ends_with("deps") || folder.ends_with("examples") {
        folder.pop();
    }
    folder.join("explode-traces")
}

/// Returns the path for the trace of a finding. Tests with crash tests of one name have traces of
/// different names.
pub(super) fn path(test: &str, id: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = test.chars().map(plain).collect();
    let place = std::thread::current().name().unwrap_or_default().to_owned();
    let id = xxh3_64(format!("{id} {place}").as_bytes()) as u32;
    folder().join(format!("{name}-{id:08x}.json"))
}

/// Reads a trace.
pub(super) fn read(path: &Path) -> Result<Trace, TraceError> {
    Trace::read(path)
}

/// Writes a trace. An existing file is replaced.
pub(super) fn write(path: &Path, trace: &Trace) -> Result<(), RunError> {
    let test = std::thread::current().name().map(str::to_owned);
    let trace = Trace { test: Some(test.unwrap_or_default()), ..trace.clone() };
    let written = std::fs::create_dir_all(folder())
        .and_then(|()| durable_write(path, trace.to_json().as_bytes()));
    written.map_err(|error| RunError::unwritable(path, error, "make room there"))
}

/// Returns the command that replays a trace that a `#[test]` has made, in the folder of its crate.
/// `None` for other traces.
pub fn command_of_test(trace: &Trace, path: &Path) -> Option<String> {
    let path = quoted(&absolute(&path.display().to_string()));
    match trace.test.as_deref()? {
        "" | "main" => Some(format!("{REPLAY}={path} cargo test")),
        test => Some(format!("{REPLAY}={path} cargo test -- --exact {}", quoted(test))),
    }
}

/// Returns the command that replays a trace: this program, with the test that runs in this thread.
pub(super) fn command(path: &Path) -> String {
    let program =
        env::current_exe().map_or_else(|_| OsString::from("cargo test"), PathBuf::into_os_string);
    let (path, program) =
        (quoted(&absolute(&path.display().to_string())), quoted(&program.to_string_lossy()));
    match std::thread::current().name() {
        Some(test) if test != "main" => {
            format!("{REPLAY}={path} {program} --exact {}", quoted(test))
        }
        _ => format!("{REPLAY}={path} {program}"),
    }
}
