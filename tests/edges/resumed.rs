//! `--resume` of a run that is still running, and of other folders.

use std::process::{Command, Stdio};

use tempfile::tempdir;

use super::{contents, stack_file, wait_until};
use crate::common::{explode_in, program};

/// A second process cannot resume a run while the first one lives. It changes nothing.
#[test]
fn a_run_that_is_going_on_is_not_resumed() {
    let folder = tempdir().unwrap();
    let (go, waits) = (folder.path().join("go"), folder.path().join("waits"));
    // The second mutate waits for a file.
    let wait = format!(
        "n=$(cat {{path}}/n 2>/dev/null); echo x$n > {{path}}/n; \
         test -z \"$n\" || {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}",
        waits.display(),
        go.display()
    );
    stack_file(folder.path(), &wait, "true");
    let mut first = Command::new(program())
        .args(["run", "stack.toml", "--out", "run"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the second mutate", || waits.exists());
    let kept = || {
        ["run.jsonl", "journal"]
            .map(|name| std::fs::read(folder.path().join("run").join(name)).unwrap())
    };
    let before = kept();
    explode_in(folder.path(), ["run", "--resume", "run"])
        .refused(&["run: this run is still running in another process; wait until it ends"]);
    // On a busy machine the first process has reported progress meanwhile.
    let [(lines, lines_now), (journal, journal_now)] = std::array::from_fn(|at| {
        let now = kept();
        (before[at].clone(), now[at].clone())
    });
    let added = lines_now.strip_prefix(&*lines).expect("the lines stay");
    let added = String::from_utf8_lossy(added);
    let is_progress = |line: &str| line.starts_with(r#"{"type":"progress""#);
    assert!(added.lines().all(is_progress), "added: {added}");
    assert!(journal_now == journal, "the journal has changed");
    std::fs::write(&go, "").unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let whole = contents(folder.path(), "run/run.jsonl");
    explode_in(folder.path(), ["run", "--resume", "run"]).expect(0);
    let counts = |text: &str| {
        let summary: serde_json::Value =
            serde_json::from_str(text.lines().last().unwrap()).unwrap();
        ["type", "states", "operations", "checked"].map(|key| summary[key].clone())
    };
    assert_eq!(counts(&contents(folder.path(), "run/run.jsonl")), counts(&whole));
}

/// A folder without the files of a run folder is damaged input.
#[test]
fn a_folder_without_messages_is_refused() {
    let folder = tempdir().unwrap();
    stack_file(folder.path(), "true", "true");
    explode_in(folder.path(), ["run", "stack.toml", "--out", "run"]).expect(0);
    std::fs::remove_file(folder.path().join("run/run.jsonl")).unwrap();
    explode_in(folder.path(), ["run", "--resume", "run"])
        .refused(&["run/run.jsonl", "name the folder of a run, with its journal"]);
    explode_in(folder.path(), ["run", "--resume", "nothing"])
        .refused(&["nothing/run.jsonl", "name the folder of a run, with its journal"]);
}
