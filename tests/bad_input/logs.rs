//! Event logs as JSON lines.

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::explode_within;
use crate::common::file;
use crate::common::log::{
    complete, crash_disks, crash_disks_of, dirty, flush, lines, mark, submit,
};

/// Checks that line 3 of this log is refused with these words.
#[track_caller]
fn refused_line(line: &str, words: &[&str]) {
    let folder = tempdir().unwrap();
    let before = [dirty(0, 0, 1, 'A'), submit(1, 0, 0, 1, 'A')];
    let log = file(
        folder.path(),
        "log.jsonl",
        format!("{}{line}\n{}", lines(&before), lines(&[complete(1)])),
    );
    let words: Vec<&str> = ["log.jsonl: line 3: "].iter().chain(words).copied().collect();
    crash_disks_of(&log, "--size 4096").refused(&words);
}

#[track_caller]
fn refused_event(event: &Value, words: &[&str]) {
    refused_line(&event.to_string(), words);
}

/// Returns the event of `dirty` with one changed key.
fn changed(key: &str, value: Value) -> Value {
    let mut event = dirty(0, 0, 1, 'A');
    event[key] = value;
    event
}

fn without(key: &str) -> Value {
    let mut event = dirty(0, 0, 1, 'A');
    event.as_object_mut().unwrap().remove(key);
    event
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    refused_event(&changed("e", json!("dirt")), &["`dirt`", "`dirty`", "`flush`"]);
    refused_event(&changed("sectr", json!(1)), &["`sectr`", "`sector`"]);
    let zeroes = json!({"e": "submit", "id": 2, "dev": 0, "sector": 0, "len": 512, "op": "zeros"});
    refused_event(&zeroes, &["`zeros`", "`zeroes`"]);
    let flag = json!({"e": "submit", "id": 2, "dev": 0, "sector": 0, "data": "", "flags": ["fau"]});
    refused_event(&flag, &["`fau`", "`fua`"]);
    refused_event(&json!({"e": "complete", "id": 1, "eror": true}), &["`eror`", "`error`"]);
}

#[test]
fn missing_keys_are_named() {
    refused_event(&without("e"), &["missing", "`e`"]);
    refused_event(&without("dev"), &["missing", "`dev`"]);
    refused_event(&without("sector"), &["missing", "`sector`"]);
    refused_event(&without("data"), &["missing", "`data`"]);
    refused_event(&json!({"e": "flush", "dev": 0}), &["missing", "`id`"]);
    refused_event(
        &json!({"e": "submit", "id": 2, "dev": 0, "sector": 0}),
        &["\"data\"", "\"len\" and \"op\""],
    );
    refused_event(&json!({"e": "submit", "id": 2, "dev": 0, "sector": 0, "len": 512}), &["\"op\""]);
}

#[test]
fn repeated_keys_and_payloads_are_refused() {
    let mut twice = submit(2, 0, 0, 1, 'A');
    twice["len"] = json!(512);
    refused_event(&twice, &["either"]);
    refused_line(r#"{"e":"flush","id":2,"dev":0,"dev":0}"#, &["duplicate", "`dev`"]);
}

#[test]
fn values_of_a_wrong_kind_are_refused() {
    refused_event(&changed("dev", json!("0")), &["string \"0\"", "u32"]);
    refused_event(&changed("dev", json!(-1)), &["-1"]);
    refused_event(&changed("dev", json!(1u64 << 32)), &["4294967296"]);
    refused_event(&changed("dev", json!(4096)), &["device 4096", "4096 devices at most"]);
    refused_event(&changed("sector", json!(1.5)), &["1.5"]);
    refused_event(&changed("sector", json!(null)), &["null"]);
    refused_event(&changed("data", json!([65, 65])), &["string"]);
    refused_event(&changed("e", json!(3)), &["3", "string"]);
    refused_event(&json!({"e": "complete", "id": 1, "error": "no"}), &["\"no\"", "boolean"]);
}

#[test]
fn data_is_base64_of_whole_sectors() {
    refused_event(&changed("data", json!("!!!!")), &["base64"]);
    refused_event(&changed("data", json!("QUFB=")), &["base64"]);
    refused_event(&changed("data", json!("QUFB")), &["3 bytes", "sectors of 512"]);
    refused_event(
        &json!({"e": "clean", "dev": 0, "sector": 0, "len": 100}),
        &["100 bytes", "sectors of 512"],
    );
    let zeroes = json!({"e": "submit", "id": 2, "dev": 0, "sector": 0, "len": 513, "op": "zeroes"});
    refused_event(&zeroes, &["513 bytes"]);
}

#[test]
fn ids_belong_to_requests_in_flight() {
    refused_event(&complete(7), &["id 7"]);
    refused_event(&submit(1, 0, 1, 1, 'B'), &["id 1", "still in flight", "after its completion"]);
    refused_event(&flush(1, 0), &["id 1", "still in flight"]);
    let folder = tempdir().unwrap();
    let twice = [submit(1, 0, 0, 1, 'A'), complete(1), complete(1)];
    crash_disks(folder.path(), &twice, "--size 4096").refused(&["line 3", "id 1"]);
    // Also before the interval.
    let before = [complete(1), mark("from")];
    crash_disks(folder.path(), &before, "--size 4096 --from from").refused(&["line 1", "id 1"]);
}

#[test]
fn events_lie_within_their_device() {
    refused_event(&dirty(0, 8, 1, 'A'), &["sector 8", "4096 bytes", "--size"]);
    refused_event(&dirty(0, 7, 2, 'A'), &["sector 7", "1024 bytes"]);
    refused_event(
        &json!({"e": "lock", "dev": 0, "sector": 8, "len": 512}),
        &["sector 8", "--size"],
    );
    refused_event(&dirty(0, u64::MAX, 1, 'A'), &["sector 18446744073709551615"]);
    let far = json!({"e": "clean", "dev": 0, "sector": 1, "len": u64::MAX - 511});
    refused_event(&far, &["18446744073709551104 bytes"]);
}

#[test]
fn lines_that_are_no_event_are_refused() {
    refused_line("hello", &["not an event", "JSON object a line", "dm-log-writes"]);
    refused_line("[\"mark\",\"x\"]", &["not an event"]);
    refused_line("17", &["not an event"]);
    refused_line("{}", &["missing", "`e`"]);
    refused_line("{e:1}", &["not JSON", "column 2"]);
    refused_line("{\"e\":\"mark\",\"name\":\"x\"} 1", &["not JSON", "column 25"]);
    refused_line("{\"e\":\"dirty\",\"dev\":0,\"sec", &["cut off", "column 25"]);
    refused_line("{\"e\":\"mark\",\"name\":\"\\u0", &["cut off"]);
    refused_line(&"[".repeat(100_000), &["not an event"]);
    refused_line(&format!("{{\"e\":{}", "[".repeat(100_000)), &["line 3"]);
}

#[test]
fn binary_logs_are_refused() {
    let folder = tempdir().unwrap();
    let log = file(folder.path(), "noise", (0..=255).cycle().take(5000).collect::<Vec<u8>>());
    crash_disks_of(&log, "--size 4096").refused(&["noise: line 1: "]);
    let log = file(folder.path(), "zeroes", vec![0; 1 << 20]);
    crash_disks_of(&log, "--size 4096").refused(&["zeroes: line 1: not an event"]);
    let log = file(folder.path(), "latin1", b"{\"e\":\"mark\",\"name\":\"\xe4\"}\n");
    crash_disks_of(&log, "--size 4096").refused(&["latin1: line 1: ", "not JSON"]);
}

/// A request far larger than the memory is refused before it is read.
#[test]
fn a_request_has_a_largest_size() {
    let folder = tempdir().unwrap();
    let len = i64::MAX as u64 - 511;
    let event = json!({"e": "submit", "id": 1, "dev": 0, "sector": 0, "len": len, "op": "zeroes"});
    let log = file(folder.path(), "log.jsonl", lines(&[event]));
    let size = (len).to_string();
    let ran = explode_within(1024, ["crash-disks", log.to_str().unwrap(), "--size", &size]);
    ran.refused(&["log.jsonl: line 1: ", &len.to_string(), "4294967296 at most"]);
}
