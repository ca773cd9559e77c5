//! The processes that a test has started, and their descendants. They are recognised by a variable
//! in their environment.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A time longer than the kernel takes to end a process, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// A mark that is unique to a test.
pub struct Mark<'a>(&'a Path);

impl<'a> Mark<'a> {
    /// Returns the mark of a folder, which must be the test's own.
    pub fn of(folder: &'a Path) -> Mark<'a> {
        Mark(folder)
    }

    /// Marks a command and all its descendants.
    pub fn put<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("EXPLODE_TEST_MARK", self.0)
    }

    /// Returns the programs of the marked processes that run now.
    pub fn running(&self) -> Vec<String> {
        self.processes().into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the marked processes that run now: their numbers and programs.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let wanted = format!("EXPLODE_TEST_MARK={}", self.0.display());
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let marked = numbers.filter(|number| {
            // A process that has ended, or belongs to another user, shows no environment.
            let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        });
        let name =
            |number: &i32| fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        marked.map(|number| (number, name(&number).trim().to_owned())).collect()
    }

    /// Checks that no marked process is left.
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
