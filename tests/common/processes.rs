//! Processes that a test has started, and those that these have started: known by a variable in
//! their environment.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than the kernel takes to end a process, on a busy machine too.
const DEADLINE: Duration = Duration::from_secs(120);

/// A mark that no other test has.
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
        self.processes().into_iter().map(|(_, name)| name).collect()
    }

    /// The same with their numbers.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let wanted = format!("EXPLODE_TEST_MARK={}", self.0.display());
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let marked = numbers.filter(|number| {
            // Of a process that has ended, or is another user's, nothing can be read.
            let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        });
        let name =
            |number: &i32| fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        marked.map(|number| (number, name(&number).trim().to_owned())).collect()
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
