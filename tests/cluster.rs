//! Targets on clusters: a finding in the formats of other programs, and its replay elsewhere.

mod common;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
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

/// A cluster is the same system wherever it runs. Other systems are not.
#[test]
fn only_a_cluster_is_replayed_in_another_place() {
    let folder = tempdir().unwrap();
    let trace = found(folder.path(), "paxos+last-promise --walks 2000");
    let replay =
        |trace: &str, place: &str| explode_in(folder.path(), ["replay", trace, "--in", place]);
    replay(&trace, "mem").expect(1);
    let path = folder.path().join(&trace);
    let elsewhere =
        std::fs::read_to_string(&path).unwrap().replace(r#""in": "mem""#, r#""in": "vm""#);
    std::fs::write(&path, elsewhere).unwrap();
    replay(&trace, "mem").expect(1);
    let run = "run wal-kv+no-checksum --out store";
    explode_in(folder.path(), run.split_whitespace()).expect(1);
    let trace = format!("store/traces/{}", files(&folder.path().join("store/traces"))[0]);
    replay(&trace, "mem").expect(1);
    replay(&trace, "vm").refused(&["'wal-kv+no-checksum' was run in mem", "omit --in"]);
}

/// `--faults` replaces the faults of a target, and a trace has them.
#[test]
fn the_faults_of_a_cluster_are_named_on_the_command_line() {
    let folder = tempdir().unwrap();
    let run = |args: &str| explode_in(folder.path(), format!("run {args}").split_whitespace());
    let target = "paxos+unsynced-promise --walks 1000";
    let clean = run(&format!("{target} --faults drops=4,partitions=1")).expect(0).out;
    assert!(clean.contains("partitions ") && !clean.contains("crashes "), "{clean}");
    let trace = found(folder.path(), "paxos+unsynced-promise --faults crashes=3,drops=2");
    let text = std::fs::read_to_string(folder.path().join(&trace)).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["checker_options"]["faults"], "crashes=3,drops=2");
    explode_in(folder.path(), ["replay", &trace]).expect(1);
    run("paxos --faults crash=2").refused(&["unknown kind of fault 'crash'", "crashes"]);
    run("paxos --faults crashes").refused(&["'crashes' names no number of faults"]);
    run("wal-kv --faults crashes=2").refused(&["'wal-kv' is not a cluster", "omit it"]);
}

/// Random walks cover what they were made for if all were made and have reached it.
#[test]
fn a_run_that_has_not_reached_everything_is_incomplete() {
    let folder = tempdir().unwrap();
    let run = |args: &str| {
        let args = format!("run paxos --require-complete {args}");
        explode_in(folder.path(), args.split_whitespace())
    };
    run("--walks 300").expect(0);
    let unreached = run("--walks 300 --faults none").expect(6).out;
    assert!(unreached.contains("an acceptor crashed after its promise 0"), "{unreached}");
    let merged = "--walks 300 --faults none --out again";
    run(merged).expect(6);
    explode_in(folder.path(), ["run", "--resume", "again", "--require-complete"]).expect(6);
}

/// A trace of a test names the command that replays it, because no other program knows its nodes.
#[test]
fn a_trace_of_a_test_is_replayed_by_its_test() {
    let folder = tempdir().unwrap();
    let trace = found(folder.path(), "paxos+last-promise --walks 2000");
    let path = folder.path().join(&trace);
    let of_test = std::fs::read_to_string(&path).unwrap();
    let of_test = of_test
        .replace(
            "\"target\": \"paxos+last-promise\"",
            "\"target\": \"mine\",\n  \"test\": \"it works\"",
        )
        .replace("\"checker\": \"paxos+last-promise\"", "\"checker\": \"mine\"")
        .replace("\"signature\": \"paxos+last-promise/", "\"signature\": \"mine/");
    std::fs::write(&path, of_test).unwrap();
    let command = format!("EXPLODE_REPLAY={} cargo test -- --exact 'it works'", path.display());
    explode_in(folder.path(), ["replay", &trace])
        .refused(&["only its program knows 'mine'", &command]);
    let shown = explode_in(folder.path(), ["show", &trace]).expect(0).out;
    assert!(shown.contains("NOT RUN a test has made this trace"), "{shown}");
    assert!(shown.contains(&format!("Replay {command}")), "{shown}");
}

/// Lets a command run as a user without rights, who may read one folder and owns the other.
fn as_another_user(command: &mut Command, readable: &Path, owned: &Path) {
    /// The number of a user without rights.
    const WITHOUT_RIGHTS: u32 = 65534;
    if !nix::unistd::geteuid().is_root() {
        return common::unsupported::unsupported("only root can run a program as another user");
    }
    for folder in [readable, owned] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder, mode).unwrap();
    }
    std::os::unix::fs::chown(owned, Some(WITHOUT_RIGHTS), Some(WITHOUT_RIGHTS)).unwrap();
    command.uid(WITHOUT_RIGHTS).gid(WITHOUT_RIGHTS);
}

/// A trace has everything that its replay needs, and so has a smaller one.
#[test]
fn a_trace_replays_as_another_user_in_another_folder_and_home() {
    let folder = tempdir().unwrap();
    let trace = found(folder.path(), "paxos+unsynced-promise");
    let small = explode_in(folder.path(), ["minimise", &trace, "--out", "small.json"]);
    small.expect(0);
    // The other user may be unable to reach the folder of the build.
    let copy = folder.path().join("explode");
    std::fs::copy(program(), &copy).unwrap();
    for file in [trace, "small.json".to_owned()] {
        let elsewhere = tempdir().unwrap();
        let mut replay = Command::new(&copy);
        replay.arg("replay").arg(folder.path().join(file)).current_dir(elsewhere.path());
        replay.env_clear().env("HOME", elsewhere.path());
        as_another_user(&mut replay, folder.path(), elsewhere.path());
        assert!(ran(&mut replay).expect(1).out.contains("reproduced"));
    }
}
