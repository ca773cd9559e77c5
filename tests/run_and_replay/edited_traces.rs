//! Traces of a system other than the present one. Edited traces diverge, are found by a search, or
//! are not reproduced.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::common::{Ran, explode, explode_in, file, files, keys, words};

/// The usual causes, at the end of both messages.
const CAUSES: &str =
    "another version of explode, of the checked system, of its options or of the programs that it
             runs; a system that is not deterministic: time, addresses, threads, random numbers \
             of its own\n";

/// Returns a real trace for each finding of SQLite without syncs.
fn traces() -> &'static [Value] {
    static TRACES: OnceLock<Vec<Value>> = OnceLock::new();
    TRACES.get_or_init(|| {
        let folder = tempdir().unwrap();
        explode_in(folder.path(), ["run", "sqlite-off", "--depth", "1", "--out", "run"]).expect(1);
        let traces = folder.path().join("run/traces");
        let read = |name: &String| {
            serde_json::from_slice(&std::fs::read(traces.join(name)).unwrap()).unwrap()
        };
        files(&traces).iter().map(read).collect()
    })
}

/// Returns the trace of a verdict.
fn trace(verdict: &str) -> Value {
    traces().iter().find(|trace| trace["verdict"] == verdict).unwrap().clone()
}

struct Replayed {
    _folder: TempDir,
    path: PathBuf,
}

impl Replayed {
    fn of(trace: &Value) -> Replayed {
        let folder = tempdir().unwrap();
        let path = file(folder.path(), "trace.json", trace.to_string());
        Replayed { _folder: folder, path }
    }

    fn human(&self) -> Ran {
        explode(["replay", self.path.to_str().unwrap()])
    }

    #[track_caller]
    fn json(&self, code: i32) -> Value {
        let ran =
            explode(["replay", self.path.to_str().unwrap(), "--format", "jsonl"]).expect(code);
        let [line] = &ran.json()[..] else { panic!("one line: {ran:?}") };
        assert_eq!(line["reproduced"], code == 1);
        line.clone()
    }
}

/// Checks that the trace diverges, and that both forms of the message have these words.
#[track_caller]
fn diverges(trace: &Value, expected: &[&str]) {
    let replayed = Replayed::of(trace);
    let human = replayed.human().expect(5);
    assert!(human.out.starts_with("    DIVERGED choice "), "{human:#?}");
    assert!(
        human.out.contains(&format!("\n    recorded {}: ", trace["verdict"].as_str().unwrap())),
        "{human:#?}"
    );
    assert!(human.out.ends_with(CAUSES), "{human:#?}");
    let line = replayed.json(5);
    assert_eq!(keys(&line), words("type trace signature reproduced verdict message reason"));
    assert_eq!((&line["type"], &line["verdict"]), (&json!("replay"), &json!("diverged")));
    assert_eq!(line["reason"], "diverged");
    for word in expected {
        assert!(human.out.contains(word), "'{word}' is not in {human:#?}");
        assert!(line["message"].as_str().unwrap().contains(word), "'{word}' is not in {line}");
    }
}

fn site(trace: &Value) -> String {
    trace["choices"][0]["label"]["site"].as_str().unwrap().to_owned()
}

#[test]
fn another_place_of_a_choice_diverges() {
    let mut trace = trace("lost");
    let real = site(&trace);
    trace["choices"][0]["label"]["site"] = json!("checkers/src/other.rs:17");
    let recorded = "recorded 6 options at checkers/src/other.rs:17";
    diverges(&trace, &["choice 0", recorded, &format!("now 6 options at {real}")]);
    trace["choices"][0]["label"]["site"] = json!(real);
    trace["choices"][0]["label"]["object"] = json!("d0");
    diverges(&trace, &[&format!("recorded 6 options at {real} on d0"), "now 6 options"]);
}

#[test]
fn another_number_of_options_diverges() {
    let mut trace = trace("lost");
    trace["choices"][0]["options"] = json!(7);
    diverges(&trace, &["choice 0", "recorded 7 options", "now 6 options", &site(&trace)]);
}

#[test]
fn another_kind_of_choice_diverges() {
    let mut trace = trace("lost");
    trace["choices"][0]["kind"] = json!("io-failure");
    diverges(&trace, &["choice 0", &site(&trace)]);
}

#[test]
fn a_record_that_is_too_short_or_too_long_diverges() {
    let mut short = trace("lost");
    let choice = short["choices"].as_array_mut().unwrap().pop().unwrap();
    diverges(
        &short,
        &[
            "choice 0",
            "the record ends",
            "now 6 options",
            choice["label"]["site"].as_str().unwrap(),
        ],
    );
    let mut long = trace("lost");
    long["choices"].as_array_mut().unwrap().push(choice);
    diverges(&long, &["choice 1", "recorded 6 options", "now there is no choice"]);
    // The record ends before this request for crash checks.
    let mut far = trace("lost");
    far["interval"] = json!(u64::MAX);
    far["mutates"] = json!(4_000_000);
    far["options"]["depth"] = json!(4_000_000);
    diverges(&far, &["choice 1", "the record ends"]);
}

/// The log differs in a part on which no error depends. Every disk of the interval is checked
/// (EX-60).
#[test]
fn another_log_is_searched() {
    for real in traces() {
        let mut trace = real.clone();
        trace["log"] = json!("0".repeat(32));
        let replayed = Replayed::of(&trace);
        let line = replayed.json(1);
        assert_eq!((&line["replayed_by"], &line["verdict"]), (&json!("search"), &trace["verdict"]));
        assert!(replayed.human().expect(1).out.contains("   by search "));
        let line = Replayed::of(real).json(1);
        assert_eq!((&line["replayed_by"], &line["message"]), (&json!("log"), &real["message"]));
    }
}

/// Begins a step. The chosen step misbehaves at the chosen moment. Returns true if the step must
/// fail.
#[test]
fn a_repaired_system_does_not_reproduce() {
    for real in traces() {
        let mut trace = real.clone();
        trace["stack"][1]["options"]["synchronous"] = json!("extra");
        let replayed = Replayed::of(&trace);
        let line = replayed.json(5);
        assert_eq!(keys(&line), words("type trace signature reproduced verdict message reason"));
        assert_eq!(line["verdict"], "ok");
        assert!(["no-disk", "nothing-wrong"].contains(&line["reason"].as_str().unwrap()), "{line}");
        let human = replayed.human().expect(5);
        let message = trace["message"].as_str().unwrap().replace('\n', "\n             ");
        let recorded = format!("    recorded {}: {message}\n", trace["verdict"].as_str().unwrap());
        assert!(
            human.out.starts_with("    NOT SEEN ") && human.out.contains(&recorded),
            "{human:#?}"
        );
        let now = format!("\n         now {}\n", line["message"].as_str().unwrap());
        assert!(human.out.contains(&now) && human.out.ends_with(CAUSES), "{human:#?}");
        assert!(
            human.out.contains("\n      causes the bug is fixed; another version of explode"),
            "{human:#?}"
        );
    }
}

#[test]
fn a_disk_that_no_crash_leaves_does_not_reproduce() {
    let edits: [fn(&mut Value); 3] = [
        |trace| trace["crash_disk"]["id"] = json!("f".repeat(32)),
        |trace| trace["crash_disk"]["blocks"] = json!([[0, 0, 1]]),
        |trace| trace["args"] = json!(["other"]),
    ];
    for edit in edits {
        let mut trace = trace("lost");
        edit(&mut trace);
        let line = Replayed::of(&trace).json(5);
        assert_eq!(
            line["message"],
            "no crash can leave the recorded disk in the recorded epoch, with these arguments"
        );
    }
}

/// Names without effect and the order of keys may differ.
#[test]
fn keys_without_effect_may_differ() {
    let mut trace = trace("lost");
    trace["target"] = json!("renamed");
    trace["explode"] = json!("99.0.0");
    trace["message"] = json!("in other words");
    let line = Replayed::of(&trace).json(1);
    assert_eq!((&line["verdict"], &line["replayed_by"]), (&json!("lost"), &json!("log")));
}
