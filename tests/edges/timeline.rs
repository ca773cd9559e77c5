//! `--timeline`, `-v` and `RUST_LOG`.

use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::tempdir;

use super::wait_until;
use crate::common::timeline::Timeline;
use crate::common::{explode_in, files, program, ran};

#[test]
fn a_timeline_has_the_spans_of_all_processes() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let run = "run sqlite-off --depth 1 --jobs 2 --out run --timeline run/timeline";
    explode_in(folder, run.split(' ')).expect(1);
    let timeline = Timeline::read(&folder.join("run/timeline"));
    let names: Vec<_> = timeline.processes.values().map(String::as_str).collect();
    assert_eq!(names, ["supervisor", "worker 1", "worker 2"]);
    timeline.units_are_waited_for();
    for (name, process, count) in [
        ("worker_start", Some(1), 2),
        ("first_start", Some(2), 1),
        ("first_start", Some(3), 1),
        ("unit", None, 6),
        ("merge", Some(1), 6),
        ("journal", Some(1), 6),
        ("confirm", Some(1), 4),
        ("mutate", None, 6),
        ("crash_request", None, 6),
    ] {
        assert_eq!(timeline.count(name, process), count, "{name}");
    }
    assert!(timeline.count("check", None) > 1000);
    assert!(timeline.count("recover", None) > timeline.count("check", None));

    let trace = format!("run/traces/{}", files(&folder.join("run/traces"))[0]);
    explode_in(folder, ["replay", &trace, "--timeline", "replayed"]).expect(1);
    let timeline = Timeline::read(&folder.join("replayed"));
    assert_eq!(timeline.count("unit", Some(2)), 1);
    assert!(timeline.count("recover", Some(2)) > 0);
    explode_in(folder, ["replay", &trace, "--timeline", &trace])
        .refused(&["--timeline", "which is read"]);
}

#[test]
fn the_timeline_of_an_interrupted_run_is_whole() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let mut command = Command::new(program());
    command.args("run sqlite-extra --depth 5 --out run --timeline timeline".split(' '));
    command.current_dir(folder).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until("there is no journal", || folder.join("run/journal").exists());
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    child.wait().unwrap();
    let timeline = Timeline::read(&folder.join("timeline"));
    timeline.units_are_waited_for();
}

#[test]
fn lines_of_log_go_to_standard_error() {
    let folder = tempdir().unwrap();
    let said = |words: &str, log: &str| {
        let mut command = Command::new(program());
        command.current_dir(folder.path()).args(words.split_whitespace()).env("RUST_LOG", log);
        command.args("run sqlite-extra --depth 1 --format jsonl --out run".split(' '));
        let ran = ran(&mut command).expect(0);
        std::fs::remove_dir_all(folder.path().join("run")).unwrap();
        ran.json();
        ran.err
    };
    assert_eq!(said("", ""), "");
    let units = said("-v", "");
    assert_eq!(units.matches(" INFO unit{").count(), 6, "{units}");
    assert!(!units.contains("crash_disk"), "{units}");
    for disks in [said("-vv", ""), said("-v", "explode_runtime=debug"), said("", "debug")] {
        assert!(disks.contains("}:crash_disk{") && disks.contains(" INFO unit{"), "{disks}");
    }
    assert_eq!(said("", "another_crate=trace"), "");
    let mut command = Command::new(program());
    ran(command.args(["list", "targets"]).env("RUST_LOG", "explode=loud"))
        .refused(&["RUST_LOG", "explode_runtime=debug"]);
}
