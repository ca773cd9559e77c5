//! Stack files: the effect of each key, refusals with their positions, and the page about them.

#[path = "../common/mod.rs"]
mod common;

mod checkers;
mod components;
mod guest;
mod junit;
mod options;
mod order;
mod page;
mod refused;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Ran, file, program, ran};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// A checker with one alternative that does nothing, and without findings.
const IDLE: &str = r#"
[checker]
name = "idle"
mutate = [ { name = "idle", steps = [ { sh = "true" } ] } ]
check = "true"
"#;

/// A folder with stack files, and `notes` on the PATH.
struct Desk(TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes `test.toml`, with the path of the log for `LOG`.
    fn write(&self, text: &str) -> PathBuf {
        file(self.path(), "test.toml", text.replace("LOG", &self.log().display().to_string()))
    }

    fn log(&self) -> PathBuf {
        self.path().join("log")
    }

    /// Returns the lines of the log.
    fn logged(&self) -> Vec<String> {
        std::fs::read_to_string(self.log()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn explode(&self, args: &str) -> Ran {
        let examples = Path::new(program()).parent().unwrap().join("examples");
        assert!(examples.join("notes").is_file(), "build the examples: cargo build --examples");
        let path = format!("{}:{}", examples.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(program());
        ran(command.args(args.split_whitespace()).current_dir(self.path()).env("PATH", path))
    }

    /// Runs a stack file on `folder`, which must end with this exit code.
    #[track_caller]
    fn run(&self, text: &str, code: i32) -> Outcome {
        self.write(text);
        let n = std::fs::read_dir(self.path()).unwrap().count();
        Outcome(
            self.explode(&format!("run test.toml --format jsonl --out run-{n}"))
                .expect(code)
                .json(),
        )
    }
}

/// The messages of a run.
#[derive(Debug)]
struct Outcome(Vec<Value>);

impl Outcome {
    fn first(&self) -> &Value {
        &self.0[0]
    }

    fn summary(&self) -> &Value {
        self.0.last().unwrap()
    }

    /// Returns the only finding.
    #[track_caller]
    fn finding(&self) -> &Value {
        let findings = common::of_type(&self.0, "finding");
        let signatures: std::collections::BTreeSet<&str> =
            findings.iter().map(|finding| finding["signature"].as_str().unwrap()).collect();
        assert_eq!(signatures.len(), 1, "{self:?}");
        findings[0]
    }

    /// Returns the messages of broken parts.
    fn broken(&self) -> String {
        common::of_type(&self.0, "broken")
            .iter()
            .map(|line| line["message"].as_str().unwrap())
            .collect()
    }
}

/// Returns a stack file on a folder, with further components and `IDLE`.
fn on_folder(components: &str) -> String {
    format!("[run]\ndepth = 1\n[[component]]\nuse = \"folder\"\n{components}\n{IDLE}")
}

/// Returns a stack file on a folder with a checker of this text.
fn checked(depth: u32, checker: &str) -> String {
    format!(
        "[run]\ndepth = {depth}\n[[component]]\nuse = \"folder\"\n[checker]\nname \
         = \"test\"\n{checker}"
    )
}
