//! Steps that hang or end their process. Each is a finding that replays, and all other counts are
//! as if the step had failed.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::{Ran, files, of_type, ran};
use crate::trial;

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for how in ["exit", "abort", "kill", "hang"] {
        for place in ["mutate", "recover", "mount", "check"] {
            trials.push(trial(&format!("{how} in {place}"), move || dies(how, place)));
        }
    }
    for (how, said) in [
        ("exit", "the process ended with exit code 7"),
        ("abort", "the process was ended by SIGABRT"),
        ("kill", "the process was ended by SIGKILL"),
        ("hang", "no end within the deadline of 0.4 s; --deadline gives it longer"),
    ] {
        trials.push(trial(&format!("{how} in init"), move || ends_the_first_start(how, said)));
    }
    trials.push(trial("a panic is no death", panics));
    trials.push(trial("a deadline of 0 is refused", || {
        let folder = tempdir().unwrap();
        run(folder.path(), "frail --deadline 0s")
            .refused(&["a deadline of 0", "30s is the default"]);
    }));
    trials
}

/// Runs this program's `run`.
pub fn run(folder: &Path, args: &str) -> Ran {
    let mut command = Command::new("/proc/self/exe");
    ran(command
        .arg("run")
        .args(args.split_whitespace())
        .args(["--format", "jsonl"])
        .current_dir(folder))
}

/// Returns the summary without the values that differ.
pub fn counts(lines: &[Value]) -> Value {
    let mut summary = lines.last().unwrap().clone();
    assert_eq!(summary["type"], "summary");
    for key in ["seconds", "broken"] {
        summary.as_object_mut().unwrap().remove(key);
    }
    summary
}

fn dies(how: &str, place: &str) {
    let folder = tempdir().unwrap();
    let fails = run(folder.path(), &format!("frail-error-{place} --out fails")).expect(1).json();
    let lines = run(folder.path(), &format!("frail-{how}-{place} --deadline 400ms --out dies"))
        .expect(1)
        .json();
    assert_eq!(counts(&lines), counts(&fails));
    assert_eq!(lines.last().unwrap()["broken"], 0);
    let verdict = match (how, place) {
        ("hang", _) => "hang",
        (_, "recover") => "recover-failed",
        (_, "mount") => "mount-failed",
        _ => "check-failed",
    };
    let findings = of_type(&lines, "finding");
    assert_eq!(findings.len(), of_type(&fails, "finding").len());
    assert_eq!(
        (&findings[0]["verdict"], &findings[0]["replayed"]),
        (&verdict.into(), &true.into())
    );
    let message = findings[0]["message"].as_str().unwrap();
    let said = match how {
        "hang" => "no end within the deadline of 0.4 s",
        "exit" => "the process ended with exit code 7",
        "abort" => "the process was ended by SIGABRT",
        _ => "the process was ended by SIGKILL",
    };
    assert_eq!(message, format!("in step {place}: {said}"));
    let trace = folder.path().join(findings[0]["trace"].as_str().unwrap());
    let written: Value = serde_json::from_slice(&std::fs::read(&trace).unwrap()).unwrap();
    assert_eq!(
        (&written["died"], &written["options"]["deadline_ms"]),
        (&place.into(), &400.into())
    );
    let mut replay = Command::new("/proc/self/exe");
    let replayed =
        ran(replay.arg("replay").arg(&trace).args(["--format", "jsonl"])).expect(1).json();
    assert_eq!(
        (&replayed[0]["reproduced"], &replayed[0]["verdict"]),
        (&true.into(), &verdict.into())
    );
}

/// Without a state there is no finding: a stack that never starts is broken, and no run folder is
/// created.
fn ends_the_first_start(how: &str, said: &str) {
    let folder = tempdir().unwrap();
    let ended =
        run(folder.path(), &format!("frail-{how}-init --deadline 400ms --out run")).expect(4);
    let why = format!(
        "the first start of the stack (init, mount, unmount) has ended each worker that tried: \
         {said}"
    );
    assert_eq!(ended.err, format!("error: {why}\n"));
    assert_eq!(ended.json(), [json!({ "type": "broken", "kind": "worker", "message": why })]);
    assert_eq!(files(folder.path()), [""; 0]);
    let failed = run(folder.path(), "frail-error-init --out run").expect(4);
    let why = "the first start failed: frail-files: on request";
    assert_eq!(failed.err, format!("error: {why}\n"));
    assert_eq!(failed.json(), [json!({ "type": "broken", "kind": "component", "message": why })]);
}

/// The panic is caught in its step. The step is broken, and the run goes on.
fn panics() {
    let folder = tempdir().unwrap();
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["run", "frail-panic-check", "--format", "jsonl", "--out", "run"])
        .current_dir(folder.path());
    let panicked = ran(&mut command);
    assert_eq!(panicked.code, 4, "{panicked:#?}");
    let lines = panicked.json();
    let summary = lines.last().unwrap();
    assert!(summary["broken"].as_u64().unwrap() > 0 && summary["findings"] == 0, "{summary}");
    assert_eq!(of_type(&lines, "broken")[0]["message"], "panicked: on request");
}
