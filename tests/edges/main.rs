//! The command line under interference: a second process, a reader that goes away, a full disk, a
//! killed run, and folders and logs of the wrong kind.

#[path = "../common/mod.rs"]
mod common;

mod kept;
mod killed;
mod logs;
mod other_disk;
mod outputs;
mod own_files;
mod reader;
mod resumed;
mod timeline;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// A time longer than anything here takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until `is_so` returns true.
#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < DEADLINE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the contents of a file. Empty if it does not exist.
fn contents(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}

/// Writes a stack file whose checker runs these commands in mutate and in check.
fn stack_file(folder: &Path, mutate: &str, check: &str) {
    let text = format!(
        r#"
[run]
depth = 2
[[component]]
use = "folder"
name = "storage"
[checker]
name = "commands"
mutate = [ {{ name = "it", steps = [ {{ sh = '''{mutate}''' }} ] }} ]
check = '''{check}'''
"#
    );
    common::file(folder, "stack.toml", text);
}
