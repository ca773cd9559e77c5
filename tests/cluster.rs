//! Targets on clusters: a finding in the formats of other programs, and its replay elsewhere.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::tempdir;

use common::{explode_in, files, program, ran};

/// Runs a target in a folder that finds one bug. Returns the path of its trace.
#[track_caller]
fn found(folder: &Path, args: &str) -> String {
    explode_in(folder, format!("run {args} --out run").split_whitespace()).expect(1);
    let traces = files(&folder.join("run/traces"));
    assert_eq!(traces.len(), 1, "{traces:?}");
    format!("run/traces/{}", traces[0])
}

/// ShiViz reads pairs of lines: a host and its vector clock, and an event.
#[test]
fn a_finding_is_a_log_for_shiviz() {
    let folder = tempdir().unwrap();
    let trace = found(folder.path(), "paxos+last-promise --walks 2000");
    let log = explode_in(folder.path(), ["show", &trace, "--as", "shiviz"]).expect(0).out;
    let lines: Vec<&str> = log.lines().collect();
    let mut last: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
    for pair in lines.chunks(2) {
        let (host, clock) = pair[0].split_once(' ').unwrap();
        let clock: BTreeMap<String, u64> = serde_json::from_str(clock).unwrap();
        let before = last.entry(host).or_default();
        assert_eq!(clock[host], before.get(host).unwrap_or(&0) + 1, "{log}");
        let goes_back = before.iter().find(|(other, count)| clock.get(*other) < Some(count));
        assert_eq!(goes_back, None, "{log}");
        *before = clock;
    }
    assert!(lines.len().is_multiple_of(2) && last.contains_key("n3"), "{log}");
    // A message makes its receiver know the events of its sender.
    assert!(last.values().any(|clock| clock.len() >= 3), "{log}");
    let texts: Vec<&str> = lines.iter().skip(1).step_by(2).copied().collect();
    assert!(texts.iter().any(|text| text.starts_with("< Promise(")), "{log}");
    assert!(texts.last().unwrap().ends_with("chosen [1]") || log.contains("chosen [2]"), "{log}");
}

/// Perfetto shows a row for each host and an arrow for each message.
#[test]
fn a_finding_is_a_chrome_trace() {
    let folder = tempdir().unwrap();
    let trace = found(folder.path(), "paxos+unsynced-promise");
    let text = explode_in(folder.path(), ["show", &trace, "--as", "chrome"]).expect(0).out;
    let events: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of = |ph: &str| events.iter().filter(|event| event["ph"] == ph).collect::<Vec<_>>();
    let rows: Vec<&str> = of("M").iter().map(|row| row["args"]["name"].as_str().unwrap()).collect();
    assert!(["n1", "n2", "n3"].iter().all(|host| rows.contains(host)), "{rows:?}");
    assert!(of("X").iter().any(|step| step["args"]["parts"].to_string().contains("CRASH, cut ")));
    assert_eq!(of("s").len(), of("f").len());
    let received = |step: &&&Value| step["name"].as_str().unwrap().starts_with("< ");
    let arrivals = of("X").iter().filter(received).count();
    assert_eq!(of("f").len(), arrivals, "each message that arrives is an arrow");
}

#[test]
fn only_a_cluster_has_hosts_to_show() {
    let folder = tempdir().unwrap();
    let run = "run wal-kv+no-checksum --out run";
    explode_in(folder.path(), run.split_whitespace()).expect(1);
    let trace = format!("run/traces/{}", files(&folder.path().join("run/traces"))[0]);
    for form in ["shiviz", "chrome"] {
        let show = |more: &[&str]| {
            let args = ["show", &trace, "--as", form].into_iter().chain(more.iter().copied());
            explode_in(folder.path(), args)
        };
        show(&[]).refused(&["'wal-kv+no-checksum' is not a cluster", "--as text"]);
        show(&["--write", "."]).refused(&["--write is for --as sh and --as xfstests"]);
        show(&["--format", "jsonl"]).refused(&["--format jsonl is for --as text"]);
    }
}

/// A trace has everything that its replay needs, and so has a smaller one.
#[test]
fn a_trace_replays_in_another_folder_and_home() {
    let folder = tempdir().unwrap();
    let trace = found(folder.path(), "paxos+unsynced-promise");
    let small = explode_in(folder.path(), ["minimise", &trace, "--out", "small.json"]);
    small.expect(0);
    for file in [trace, "small.json".to_owned()] {
        let elsewhere = tempdir().unwrap();
        let mut replay = Command::new(program());
        replay.arg("replay").arg(folder.path().join(file)).current_dir(elsewhere.path());
        let replayed = ran(replay.env_clear().env("HOME", elsewhere.path()));
        assert!(replayed.expect(1).out.contains("reproduced"));
    }
}
