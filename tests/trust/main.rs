//! A stranger's commands run only if the user allows it, and a stranger's text cannot control a
//! terminal.

#[path = "../common/mod.rs"]
mod common;

mod folders;
mod key;
mod shown;
mod traces;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Ran, file, program, ran};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// A folder with a stack file whose commands create a file, the canary, and with users who each
/// have a state folder.
struct Desk(TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempdir().unwrap())
    }

    /// Returns a desk where the user `me` has made a finding, and the path of its trace.
    fn with_finding() -> (Desk, String) {
        let desk = Desk::new();
        desk.stack("sh = \"touch CANARY\"", "echo it is gone; exit 1");
        let lines = desk.explode("me", "run test.toml --format jsonl --out run").expect(1).json();
        let finding = common::of_type(&lines, "finding")[0].clone();
        assert_eq!(finding["replayed"], true, "{lines:?}");
        desk.clean();
        (desk, finding["trace"].as_str().unwrap().to_owned())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn canary(&self) -> PathBuf {
        self.path().join("canary")
    }

    /// Writes `test.toml`: a private folder, and a checker with one step and this check. `CANARY`
    /// stands for the canary's path.
    fn stack(&self, step: &str, check: &str) -> PathBuf {
        let text = format!(
            "[run]\ndepth = 1\n[[component]]\nuse = \"folder\"\n[[component]]\nname \
             = \"log\"\ninit = \"touch CANARY\"\n\
             [checker]\nname = \"kept\"\nmutate = [ \
             {{ name = \"add\", steps = [ {{ {step} }} ] }} ]\ncheck = '''{check}'''\n"
        );
        file(self.path(), "test.toml", text.replace("CANARY", self.canary().to_str().unwrap()))
    }

    /// Runs `explode` as a user with a state folder of this name.
    fn explode(&self, user: &str, args: &str) -> Ran {
        ran(&mut self.command(user, args))
    }

    fn command(&self, user: &str, args: &str) -> Command {
        let mut command = Command::new(program());
        command.args(args.split_whitespace()).current_dir(self.path());
        command.env("XDG_STATE_HOME", self.path().join(user));
        command
    }

    /// Checks that a command is refused with every shell command in the error, and that nothing was
    /// run.
    #[track_caller]
    fn refuses(&self, user: &str, args: &str) -> String {
        let ran = self.explode(user, args).expect(2);
        assert_eq!(ran.out, "", "{args}: {ran:#?}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains("--trust"), "{args}: {ran:#?}");
        assert!(
            ran.err.contains(&format!("  log.init: touch {}\n", self.canary().display())),
            "{ran:#?}"
        );
        assert!(!self.canary().exists(), "{args} ran a command");
        ran.err
    }

    /// Checks that a command ends with this exit code and has run the shell commands.
    #[track_caller]
    fn does(&self, user: &str, args: &str, code: i32) -> String {
        let ran = self.explode(user, args).expect(code);
        assert!(self.canary().exists(), "{args} ran nothing: {ran:#?}");
        self.clean();
        ran.out
    }

    /// Removes the canary.
    fn clean(&self) {
        fs::remove_file(self.canary()).unwrap();
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path().join(name)).unwrap()).unwrap()
    }

    /// Writes a changed copy of a JSON file.
    fn edited(&self, name: &str, into: &str, edit: impl FnOnce(&mut Value)) {
        let mut value = self.json(name);
        edit(&mut value);
        file(self.path(), into, value.to_string());
    }
}
