//! Traces that are cut off, edited or invented.

use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::{Ran, explode, explode_in, file};

/// The text of a real trace.
pub fn trace() -> &'static str {
    static TRACE: OnceLock<String> = OnceLock::new();
    TRACE.get_or_init(|| {
        let folder = tempdir().unwrap();
        explode_in(folder.path(), ["run", "sqlite-off-wal", "--depth", "1", "--out", "run"])
            .expect(1);
        let traces = folder.path().join("run/traces");
        let name = std::fs::read_dir(traces).unwrap().next().unwrap().unwrap().path();
        std::fs::read_to_string(name).unwrap()
    })
}

fn replay(folder: &Path, text: impl AsRef<[u8]>) -> Ran {
    explode(["replay", file(folder, "bad.json", text).to_str().unwrap()])
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>, words: &[&str]) {
    let folder = tempdir().unwrap();
    let words: Vec<&str> = ["bad.json: "].iter().chain(words).copied().collect();
    replay(folder.path(), text).refused(&words);
}

/// Checks that the trace is refused with these words after a change.
#[track_caller]
fn edited(change: impl FnOnce(&mut Value), words: &[&str]) {
    let mut trace: Value = serde_json::from_str(trace()).unwrap();
    change(&mut trace);
    refused(serde_json::to_string_pretty(&trace).unwrap(), words);
}

#[test]
fn the_trace_itself_is_good() {
    let folder = tempdir().unwrap();
    replay(folder.path(), trace()).expect(1);
}

#[test]
fn a_trace_that_is_cut_off_is_refused_with_line_and_column() {
    refused("", &["not a trace", "line 1 column 0"]);
    let whole = trace().trim_end();
    for part in [1, 2, 3, 5, 8, 13] {
        let part = whole[..whole.len() * part / 14].trim_end();
        let (line, last) = (part.lines().count(), part.lines().last().unwrap());
        refused(part, &["not a trace", "EOF", &format!("line {line} column {}", last.len())]);
    }
    refused(&whole[..whole.len() - 1], &["not a trace", "EOF"]);
    refused(format!("{whole}x"), &["not a trace", "trailing characters"]);
}

#[test]
fn files_that_are_no_trace_are_refused() {
    refused("hello", &["not a trace", "line 1 column 1"]);
    refused("[1]", &["not a trace", "JSON object"]);
    refused("{}", &["not a trace", "`format`"]);
    refused([0xff, 0xfe, 0], &["not a trace", "line 1"]);
    refused("[".repeat(100_000), &["not a trace"]);
    refused(format!("{{\"format\":1,\"stack\":{}", "[".repeat(100_000)), &["not a trace"]);
}

#[test]
fn another_format_is_refused() {
    edited(|trace| trace["format"] = json!(2), &["format 2", "format 1", "use the version"]);
    edited(|trace| trace["format"] = json!("1"), &["line", "column"]);
    // Of a later format only its number is known.
    refused("{\"format\": 7, \"unheard\": {\"of\": []}}", &["format 7"]);
}

#[test]
fn unknown_and_missing_keys_are_named() {
    edited(|trace| trace["chioces"] = json!([]), &["`chioces`", "`choices`", "line", "column"]);
    edited(|trace| trace["options"]["rules"]["blok"] = json!(1), &["`blok`", "line"]);
    edited(|trace| trace["choices"][0]["valeu"] = json!(0), &["`valeu`", "`value`", "line"]);
    edited(|trace| trace["choices"][0]["label"]["line"] = json!(3), &["`line`", "`site`"]);
    edited(|trace| trace["options"]["sede"] = json!(3), &["`sede`", "`seed`"]);
    edited(|trace| trace["stack"][0]["option"] = json!({}), &["`option`", "`options`"]);
    edited(|trace| trace["crash_disk"]["block"] = json!([]), &["`block`", "`blocks`"]);
    for key in ["stack", "choices", "interval", "log", "verdict"] {
        edited(
            |trace| drop(trace.as_object_mut().unwrap().remove(key)),
            &["missing", &format!("`{key}`")],
        );
    }
}

#[test]
fn names_inside_are_suggested() {
    edited(
        |trace| trace["stack"][0]["use"] = json!("simfile"),
        &["component 'simfile'", "did you mean 'simfiles'?"],
    );
    edited(|trace| trace["checker"] = json!("sqlite-transaction"), &["sqlite-transaction"]);
    let checker = |trace: &mut Value| {
        trace["checker"] = json!("fs-basc");
        trace["signature"] = json!(format!("fs-basc/{}/x", trace["verdict"].as_str().unwrap()));
    };
    edited(checker, &["checker 'fs-basc'", "did you mean 'fs-basic'?"]);
    edited(
        |trace| trace["stack"][1]["options"]["journl"] = json!("wal"),
        &["'journl'", "did you mean 'journal'?"],
    );
    edited(
        |trace| trace["stack"][1]["options"]["journal"] = json!("wall"),
        &["'wall'", "did you mean 'wal'?"],
    );
    edited(
        |trace| trace["checker_options"]["rolback"] = json!("whole"),
        &["'rolback'", "did you mean 'rollback'?"],
    );
    edited(
        |trace| trace["stack"][1]["children"] = json!(["simfile"]),
        &["'simfile'", "did you mean 'simfiles'?"],
    );
    edited(|trace| trace["in"] = json!("cloud"), &["`cloud`", "`mem`"]);
    edited(|trace| trace["verdict"] = json!("gone"), &["`gone`", "`lost`"]);
    edited(|trace| trace["epoch"] = json!("later"), &["`later`", "`in-between`"]);
}

#[test]
fn an_answer_is_one_of_the_options() {
    edited(|trace| trace["choices"][0]["value"] = json!(6), &["choice 0", "value 6", "6 options"]);
    edited(|trace| trace["choices"][0]["value"] = json!(u32::MAX), &["choice 0", "4294967295"]);
    edited(|trace| trace["choices"][0]["options"] = json!(0), &["choice 0", "0 options"]);
    edited(|trace| trace["choices"][0]["value"] = json!(-1), &["-1", "line"]);
    edited(|trace| trace["choices"][0]["value"] = json!(1u64 << 32), &["4294967296", "line"]);
}

#[test]
fn numbers_out_of_range_are_refused() {
    edited(|trace| trace["mutates"] = json!(0), &["0 mutates", "depth is 1"]);
    edited(
        |trace| trace["mutates"] = json!(4_000_000_000u32),
        &["4000000000 mutates", "depth is 1"],
    );
    edited(|trace| trace["interval"] = json!(1e30), &["line", "column"]);
    edited(|trace| trace["options"]["depth"] = json!(0), &["depth"]);
    edited(|trace| trace["options"]["samples"] = json!(0), &["at least 2"]);
    edited(|trace| trace["options"]["seed"] = json!(-1), &["-1", "line"]);
    edited(
        |trace| trace["options"]["rules"]["block_bytes"] = json!(0),
        &["block of 0", "multiple of 512"],
    );
    edited(
        |trace| trace["options"]["rules"]["block_bytes"] = json!(u32::MAX),
        &["block of 4294967295"],
    );
    edited(|trace| trace["stack"][1]["options"]["page_bytes"] = json!(u64::MAX), &["page_bytes"]);
    let huge =
        trace().replace("\"page_bytes\": 512", &format!("\"page_bytes\": 1{}", "0".repeat(30)));
    refused(huge, &["true or false, a number", "line"]);
}

#[test]
fn contradictory_traces_are_refused() {
    edited(|trace| trace["log"] = json!("zz"), &["'zz'", "32 hexadecimal digits"]);
    edited(|trace| trace["crash_disk"]["id"] = json!("12"), &["'12'", "32 hexadecimal digits"]);
    edited(|trace| trace["crash_disk"] = json!(null), &["epoch", "crash disk"]);
    edited(|trace| trace["epoch"] = json!(null), &["epoch", "crash disk"]);
    edited(|trace| trace["verdict"] = json!("corrupt"), &["signature", "'corrupt'"]);
}
