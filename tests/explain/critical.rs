//! The critical write of traces for which it is known.

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::of_type;
use crate::{explode, trace_of, trial};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a commit without its data is critical when it reaches the disk", commit),
        trial("a required write is critical when it is lost", lost),
        trial("no disk of the moment recovers", doomed),
        trial("during recovery", recovery),
        trial("a bound makes the result uncertain, and the story says that", bounded),
        trial("nothing is found where flushes order the writes", fixed),
    ]
}

/// Returns the critical write that `show` reports for a trace.
fn critical(target: &str, promise: &str, more: &str) -> Value {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), target, promise);
    let lines = explode(folder.path(), &format!("show {} --format jsonl {more}", trace.display()))
        .expect(0);
    let lines = lines.json();
    let [critical] = of_type(&lines, "critical")[..] else { panic!("one line: {lines:?}") };
    critical.clone()
}

/// Recovery succeeds while the three blocks of data are lost one after the other, because there is
/// no commit. It fails once the commit is kept.
fn commit() {
    let expected = json!({
        "type": "critical", "found": true, "dev": 0, "sector": 0, "version": 1, "kept": true,
        "decision": 4, "decisions": 4, "certain": true,
        "nearest": [{ "dev": 0, "sector": 0, "keeps": null }], "as_near": 1,
        "nearest_certain": true,
    });
    assert_eq!(critical("journal", "whole", ""), expected);
}

/// At the end all four blocks are promised. Recovery fails once the first one is lost. Only the
/// disk with all of them recovers.
fn lost() {
    let found = critical("journal", "committed", "");
    assert_eq!(
        (&found["sector"], &found["kept"], &found["decision"]),
        (&json!(8), &json!(false), &json!(1))
    );
    let nearest: Vec<&Value> =
        found["nearest"].as_array().unwrap().iter().map(|range| &range["sector"]).collect();
    assert_eq!(nearest, [&json!(0), &json!(8), &json!(16), &json!(24)]);
    assert_eq!((&found["certain"], &found["as_near"]), (&json!(true), &json!(1)));
}

fn doomed() {
    let found = critical("journal-doomed", "doomed", "");
    assert_eq!(
        found,
        json!({ "type": "critical", "found": false, "why": "no disk of that moment recovers" })
    );
}

/// The recovery's second step, which reaches the disk without the first. The nearest disk lacks the
/// second step.
fn recovery() {
    let found = critical("begun", "steps", "");
    assert_eq!((&found["sector"], &found["kept"]), (&json!(808), &json!(true)), "{found}");
    assert_eq!(found["nearest"], json!([{ "dev": 0, "sector": 808, "keeps": null }]));
    assert_eq!((&found["certain"], &found["nearest_certain"]), (&json!(true), &json!(true)));
}

fn bounded() {
    let found = critical("journal-doomed", "doomed", "--tests 4");
    assert_eq!(found["why"], "no disk of that moment that was looked at recovers", "{found}");
}

fn fixed() {
    let folder = tempdir().unwrap();
    explode(folder.path(), "run journal-fixed --out run").expect(0);
}
