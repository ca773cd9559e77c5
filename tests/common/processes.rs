//! Processes that a test has started, and those that these have started: known by a variable in their environment.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than the kernel takes to end a process.
const DEADLINE: Duration = Duration::from_secs(20);

/// A mark that nobody else has.
pub struct Mark<'a>(&'a Path);

impl<'a> Mark<'a> {
    /// Made of a folder of its own.
    pub fn of(folder: &'a Path) -> Mark<'a> {
        Mark(folder)
    }

    /// Marks a command and all that it will start.
    pub fn put<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("EXPLODE_TEST_MARK", self.0)
    }

    /// The programs of the marked processes that run now.
    pub fn running(&self) -> Vec<String> {
        let wanted = format!("EXPLODE_TEST_MARK={}", self.0.display());
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let marked = processes.filter(|process| {
            // Of a process that has ended, or is another user's, nothing can be read.
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        });
        let name = |process: std::path::PathBuf| fs::read_to_string(process.join("comm")).unwrap_or_default();
        marked.map(name).map(|name| name.trim().to_owned()).collect()
    }

    /// Nothing that was marked runs on.
    #[track_caller]
    pub fn nothing_left(&self) {
        let started = Instant::now();
        loop {
            let running = self.running();
            if running.is_empty() {
                return;
            }
            assert!(started.elapsed() < DEADLINE, "left running: {running:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
