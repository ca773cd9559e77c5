//! A crate outside the workspace, with explode as its only dependency: `outside_crate/example` has a component, a checker and
//! targets of its own. They run in process and, unchanged, in a guest; and a bug in them is found and replayed.

mod common;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;
use tempfile::tempdir;

use common::{Ran, guest, ran};

/// The crate's program, built once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(build)
}

/// Builds a copy of the crate, in the folder where this test's own program was built.
///
/// The copy is a workspace of its own, with the versions and the profile of explode's: so what both depend on is built once.
/// Explode's own crates are built anew, for to cargo they are others here; they are not optimised, which takes a quarter of
/// the time.
fn build() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (example, temporary) =
        (workspace.join("tests/outside_crate/example"), Path::new(env!("CARGO_TARGET_TMPDIR")));
    let copy = temporary.join("outside_crate");
    fs::create_dir_all(copy.join("src")).unwrap();
    let lock = fs::read_to_string(workspace.join("Cargo.lock")).unwrap();
    let manifest = fs::read_to_string(example.join("Cargo.toml")).unwrap();
    let (before, after) = manifest.split_once("../../..").expect("the path of explode");
    let manifest = format!("{before}{}{after}\n[workspace]\n{}", workspace.display(), profile(&lock));
    fs::write(copy.join("Cargo.toml"), manifest).unwrap();
    fs::write(copy.join("Cargo.lock"), lock).unwrap();
    fs::copy(example.join("src/main.rs"), copy.join("src/main.rs")).unwrap();
    let target = temporary.parent().expect("a folder of the target folder");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--target-dir"]).arg(target).current_dir(&copy);
    ran(&mut cargo).expect(0);
    target.join("debug/log-check")
}

/// The profile of explode's workspace, but for explode's own crates.
fn profile(lock: &str) -> String {
    let workspace = "[profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\n\
                     [profile.dev.build-override]\nopt-level = 0\ndebug = false\n";
    let ours = lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let ours = ours.filter(|name| name.starts_with("explode"));
    let ours = ours.map(|name| format!("[profile.dev.package.{name}]\nopt-level = 0\ndebug = false\n"));
    workspace.to_owned() + &ours.collect::<String>()
}

fn run<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Ran {
    ran(Command::new(program()).current_dir(folder).args(args))
}

/// A run that must find nothing, and look at something.
fn clean(args: &str) {
    let folder = tempdir().unwrap();
    let args = format!("run {args} --format jsonl");
    let lines = run(folder.path(), args.split_whitespace()).expect(0).json();
    let summary = lines.last().unwrap();
    assert_eq!((&summary["type"], &summary["broken"]), (&json!("summary"), &json!(0)));
    assert!(summary["checked"].as_u64().unwrap() > 0, "{summary}");
}

/// A run that must find a lost line; each command that it prints shows its finding again.
fn lost(target: &str) {
    let folder = tempdir().unwrap();
    let text = run(folder.path(), ["run", target, "--depth", "1"]).expect(1).out;
    let said = text.lines().find_map(|line| line.strip_prefix("        FAIL ")).expect("a finding");
    assert!(said.starts_with("lost: "), "{text}");
    // Of each finding where it is told, and again at the end.
    let commands: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("             replay    ")).collect();
    assert!(!commands.is_empty(), "{text}");
    for command in commands {
        let replayed = ran(Command::new("sh").args(["-c", command]).current_dir(folder.path())).expect(1);
        assert!(replayed.out.contains("reproduced log-lines/lost/synced-line"), "{command}: {replayed:#?}");
    }
}

#[test]
fn in_process_on_simulated_files() {
    clean("log-lines --stack log-file --in mem");
    clean("log");
    lost("log+no-fsync");
    let folder = tempdir().unwrap();
    let unknown = run(folder.path(), ["run", "log-line", "--stack", "log-file"]);
    unknown.refused(&["unknown checker 'log-line'", "did you mean 'log-lines'?"]);
}

#[test]
fn unchanged_on_ext4_in_a_guest() {
    if !guest::required() {
        return;
    }
    clean("log-ext4 --in vm --depth 1");
    lost("log-ext4+no-fsync");
}
