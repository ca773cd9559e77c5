//! A killed run leaves no process behind. The next run removes its private folders.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::tempdir;

use super::{stack_file, wait_until};
use crate::common::processes::Mark;
use crate::common::unsupported::unsupported;
use crate::common::{Ran, explode_in, file, files, nodes, program, ran};

/// SIGKILL while a command of a stack file runs, with a background process.
#[test]
fn commands_end_with_the_run() {
    let folder = tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let waits = folder.path().join("waits");
    stack_file(
        folder.path(),
        &format!("sleep 1000 & touch {}; sleep 1000", waits.display()),
        "true",
    );
    let mark = Mark::of(folder.path());
    let mut command = Command::new(program());
    command
        .args(["run", "stack.toml", "--out", "run"])
        .current_dir(folder.path())
        .env("TMPDIR", &temporary);
    let mut run = mark.put(&mut command).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the command", || waits.exists());
    let sleeping = || mark.running().iter().filter(|name| *name == "sleep").count();
    wait_until("both of its processes", || sleeping() == 2);
    run.kill().unwrap();
    run.wait().unwrap();
    mark.nothing_left();
    assert_eq!(
        files(&temporary).len(),
        2,
        "its private folder, and that of its marks: {:?}",
        files(&temporary)
    );
    // The next run works, and removes the folders.
    stack_file(folder.path(), "true", "true");
    file(folder.path(), "tmp/explode-folder-of-nobody", "a file, and not ours");
    let mut next = Command::new(program());
    next.args(["run", "stack.toml", "--out", "next"])
        .current_dir(folder.path())
        .env("TMPDIR", &temporary);
    assert!(next.stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(files(&temporary), ["explode-folder-of-nobody"]);
}

/// A worker that is killed because it hangs leaves no folder after the run.
#[test]
fn a_worker_that_hangs_leaves_no_folder() {
    let folder = tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    stack_file(folder.path(), "sleep 1000", "true");
    let mut run = Command::new(program());
    run.args(["run", "stack.toml", "--out", "run", "--deadline", "300ms"])
        .current_dir(folder.path());
    let status =
        run.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1), "a hang");
    assert!(files(&temporary).is_empty(), "{:?}", files(&temporary));
    let trace = format!("run/traces/{}", files(&folder.path().join("run/traces"))[0]);
    explode_in(folder.path(), ["replay", &trace]).expect(1);
}

/// Runs `scripts/long/kills`. `None` if this machine cannot.
fn kills(explode: &Path, more: &[&str]) -> Option<Ran> {
    let needed = ["/dev/fuse", "/usr/bin/python3"].map(Path::new);
    if let Some(missing) = needed.into_iter().find(|path| !path.exists()) {
        unsupported(&missing.display().to_string());
        return None;
    }
    if !nodes::is_root("mounting simulated files") {
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/long/kills");
    Some(ran(Command::new(script).args(more).env("EXPLODE", explode)))
}

/// SIGKILL of each part of `explode app`. `scripts/long/kills` does the same a thousand times.
#[test]
fn nothing_is_left_of_a_program_on_simulated_files() {
    let Some(ran) = kills(Path::new(program()), &["9"]) else { return };
    let ran = ran.expect(0);
    let counts = "explode: 1, worker: 1, guard: 1, replay: 1, program: 1, setup: 1, work: 1, recover: 1, \
                  check: 1";
    assert!(ran.out.contains(counts), "{ran:?}");
    assert!(ran.out.ends_with("0 things left\n"), "{ran:?}");
}

/// The canary of the script: a program that leaves a process and a temporary folder.
#[test]
fn what_a_killed_program_leaves_is_named() {
    let folder = tempdir().unwrap();
    let text = "#!/bin/sh\nmkdir $TMPDIR/mine\nsetsid sleep 1000 &\nsleep 2\n";
    let leaky = file(folder.path(), "leaky", text);
    std::fs::set_permissions(&leaky, Permissions::from_mode(0o755)).unwrap();
    let Some(ran) = kills(&leaky, &["--patience", "1", "1"]) else { return };
    let ran = ran.expect(1);
    assert!(ran.out.contains(": sleep 1000\n"), "{ran:?}");
    assert!(ran.out.contains("temporary: mine\n"), "{ran:?}");
    let kept = ran.out.split("explode: ").nth(1).unwrap().split(':').next().unwrap();
    std::fs::remove_dir_all(kept).unwrap();
}
