//! The command at the end of each finding is pasted, for every verdict of runs in process, and for
//! those in a guest that survives. (Guests that end: `guests.rs`, `trouble.rs`. Replays with
//! another result: `tests/run_and_replay`, `guests.rs`.) Nothing reports `liveness`, `deadlock` and
//! `livelock` yet.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;
use tempfile::tempdir;

use crate::common::pasted::{first_replays, replays};
use crate::common::{file, guest, ran};
use crate::trial;

/// The arguments of a run, its exit code, and the verdicts of its findings.
const RUNS: [(&str, i32, &[&str]); 9] = [
    ("sqlite-off --depth 1", 1, &["corrupt", "lost", "recover-failed"]),
    ("sqlite-normal --depth 1", 0, &["lost"]),
    ("simfiles-sync+dirsync-lies --depth 3", 1, &["corrupt", "lost", "resurrected"]),
    ("frail-error-mount", 1, &["mount-failed"]),
    ("frail-error-mutate", 1, &["check-failed"]),
    ("frail-kill-recover", 1, &["recover-failed"]),
    ("frail-exit-mount", 1, &["mount-failed"]),
    ("frail-abort-check", 1, &["check-failed"]),
    ("frail-hang-check --deadline 400ms", 1, &["hang"]),
];

/// A stack file with a finding without a crash, and a finding in each step on a crash disk.
const COMMANDS: &str = r#"
[run]
depth = 1
STORAGE
[[component]]
name = "system"
recover = "test ! -e {child}/irreparable"
mount = "test ! -e {child}/unmountable"
[[component]]
name = "view"
children = ["storage"]
[checker]
name = "commands"
mutate = [
  { name = "must", steps = [ { sh = "exit 9", must = true } ] },
  { name = "recover", steps = [ { sh = "echo | dd of={path}/irreparable conv=fsync" }, { crash = [] } ] },
  { name = "mount", steps = [ { sh = "echo | dd of={path}/unmountable conv=fsync" }, { crash = [] } ] },
  { name = "check", steps = [ { crash = ["k{n}"] } ] },
]
check = "echo $EXPLODE_ARGS is gone; test -z $EXPLODE_ARGS"
"#;

/// The lower layers of the stack file's system: in process, and on a kernel.
const FOLDER: &str = "[[component]]\nuse = \"folder\"\nname = \"storage\"";
const EXT2: &str =
    "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"ext2\"\nname = \"storage\"";

pub fn trials() -> Vec<Trial> {
    let of_target = |(args, code, verdicts): (&'static str, i32, &'static [&'static str])| {
        trial(&format!("pasted: {args}"), move || pasted(args, code, verdicts, replays))
    };
    let mut trials: Vec<Trial> = RUNS.into_iter().map(of_target).collect();
    let commands = ["check-failed", "mount-failed", "recover-failed"];
    trials
        .push(trial("pasted: a stack file", move || pasted("folder.toml", 1, &commands, replays)));
    let mut in_guests = |name: &str, args: &'static str, verdicts: [&'static str; 3]| {
        trials.push(trial(&format!("guests: pasted: {name}"), move || {
            if guest::required() {
                pasted(args, 1, &verdicts, first_replays);
            }
        }));
    };
    in_guests("a stack file", "ext2.toml --crash-depth 0", commands);
    let ext4 = "ext4+flush-lies --depth 1 --states 2 --limit 40 --samples 20 --crash-depth 0";
    in_guests("what ext4 loses on a disk that lies", ext4, ["corrupt", "lost", "mount-failed"]);
    trials
}

/// Runs it, and checks that the commands of its findings reproduce these verdicts.
fn pasted(args: &str, code: i32, verdicts: &[&str], replays: fn(&str) -> BTreeSet<String>) {
    let folder = tempdir().unwrap();
    for (name, storage) in [("folder.toml", FOLDER), ("ext2.toml", EXT2)] {
        file(folder.path(), name, COMMANDS.replace("STORAGE", storage));
    }
    let text = run_human(folder.path(), args, code);
    assert_eq!(Vec::from_iter(replays(&text)), verdicts, "{text}");
}

/// Returns the human output of a run, whose folder is `run`.
#[track_caller]
pub fn run_human(folder: &Path, args: &str, code: i32) -> String {
    // The program is called by its absolute path, so that the commands that it prints can be
    // pasted.
    let mut command = Command::new(std::env::current_exe().unwrap());
    ran(command.arg("run").args(args.split_whitespace()).args(["--out", "run"]).current_dir(folder))
        .expect(code)
        .out
}

/// Returns the messages of the run in this folder.
pub fn reported(out: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(out.join("run.jsonl")).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
