//! `explode bench`: its output, except the times (in a guest: `tests/guest`).

#[path = "common/mod.rs"]
mod common;

use serde_json::{Value, json};

use common::{explode, explode_in, file};

fn bench(args: &str) -> Vec<Value> {
    let args = format!("bench {args} --format jsonl");
    explode(args.split_whitespace()).expect(0).json()
}

fn is_time(value: &Value) -> bool {
    value.as_f64().is_some_and(|time| time > 0.0)
}

#[test]
fn targets_in_process_have_a_line_each() {
    let lines = bench("sqlite-full-wal fs-sync");
    let counted = |line: &Value| {
        let keys = [
            "type",
            "target",
            "in",
            "set",
            "disks",
            "violations",
            "recovery_disks",
            "recovery_crash_crash_disks",
        ];
        keys.map(|key| line[key].clone())
    };
    let expected = |target: &str, recovery: u64| {
        [
            json!("bench"),
            json!(target),
            json!("mem"),
            json!([]),
            json!(30),
            json!(0),
            json!(30),
            json!(recovery),
        ]
    };
    assert_eq!(
        lines.iter().map(counted).collect::<Vec<_>>(),
        [expected("sqlite-full-wal", 5), expected("fs-sync", 0)]
    );
    for line in &lines {
        assert!(
            ["explode_us", "recovery_us", "seconds"].iter().all(|key| is_time(&line[key])),
            "{line}"
        );
        assert!(line["rounds"].as_u64().is_some_and(|rounds| rounds >= 15), "{line}");
        // In process there is no plain loop.
        for key in ["floor_us", "share", "blocks", "host_seconds"] {
            assert_eq!(line[key], Value::Null, "{key}");
        }
    }
}

#[test]
fn each_value_is_measured_on_each_target_with_the_component() {
    let lines = bench("sqlite-full fs-sync --each sqlite.journal=delete,wal --checks 2");
    let sets: Vec<(&str, &Value)> =
        lines.iter().map(|line| (line["target"].as_str().unwrap(), &line["set"])).collect();
    assert_eq!(
        sets,
        [
            ("sqlite-full", &json!(["sqlite.journal=delete"])),
            ("sqlite-full", &json!(["sqlite.journal=wal"])),
            ("fs-sync", &json!([])),
        ]
    );
}

#[test]
fn options_of_the_checker_are_set_as_in_a_run() {
    let args = "fs-workloads --stack simfiles --checks 2";
    let lines = bench(&format!("{args} --each fs-workloads.start=empty,mounted"));
    let sets: Vec<&Value> = lines.iter().map(|line| &line["set"]).collect();
    assert_eq!(
        sets,
        [&json!(["fs-workloads.start=empty"]), &json!(["fs-workloads.start=mounted"])]
    );
    let refused = |option: &str, words: &[&str]| {
        let args = format!("bench {args} --set {option}");
        explode(args.split_whitespace()).refused(words);
    };
    refused("fs-workloads.start=full", &["unknown start setting 'full'"]);
    refused("fs-workloads.begin=empty", &["unknown option of fs-workloads 'begin'"]);
}

/// `cluster` stands for the clusters without seeded bugs. Only raft has a loop by hand.
#[test]
fn walks_of_clusters_are_measured_beside_a_loop_by_hand() {
    let lines = bench("cluster");
    let names: Vec<&Value> = lines.iter().map(|line| &line["target"]).collect();
    assert_eq!(names, [&json!("paxos"), &json!("raft")]);
    for line in &lines {
        assert_eq!((&line["type"], &line["walks"]), (&json!("walks"), &json!(64)), "{line}");
        assert!(line["rounds"].as_u64().is_some_and(|rounds| rounds >= 15), "{line}");
        let has = line["target"] == "raft";
        for key in ["by_hand_ns", "by_hand_crashes", "by_hand_replies", "share"] {
            assert_eq!(is_time(&line[key]), has, "{key}: {line}");
        }
    }
    let raft = &lines[1];
    let number = |key: &str| raft[key].as_f64().expect("it is a number");
    assert_eq!(number("steps"), 150.0);
    // A walk and one by hand do the same work.
    assert!((number("crashes") - number("by_hand_crashes")).abs() < 0.5, "{raft}");
    assert!(number("replies") > 1.0 && number("by_hand_replies") > 1.0, "{raft}");
}

/// A sample can have equal disks, so a sample of 200 disks of rename-kv has fewer than 200.
#[test]
fn equal_disks_of_a_sample_are_replaced_by_more_of_the_request() {
    let lines = bench("rename-kv --checks 200");
    assert_eq!(lines[0]["disks"], json!(200));
    // The number that a refusal recommends can be measured.
    let ran = explode("bench journal-kv --checks 200".split_whitespace());
    ran.refused(&["journal-kv, 5 mutates deep, has 200 disks", "use --checks 107 or a larger"]);
    assert_eq!(bench("journal-kv --checks 107")[0]["disks"], json!(107));
}

#[test]
fn text_output_has_rates() {
    let text = explode(["bench", "fs-sync", "--checks", "2"]).expect(0).out;
    let words: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(words, ["Explode", "Stack", "Disks", "explode", "floor", "crash-depth"], "{text}");
    assert!(
        text.contains(" disks a second, ") && text.contains("Disks 2, 0 with an error; "),
        "{text}"
    );
}

#[test]
fn impossible_measurements_are_refused() {
    let refused = |args: &str, words: &[&str]| {
        let ran = explode(["bench"].into_iter().chain(args.split_whitespace()));
        ran.refused(words);
    };
    refused("", &["<TARGETS>"]);
    refused("fs-sink", &["unknown target 'fs-sink'", "did you mean 'fs-sync'?"]);
    refused("fs-sync --checks 1", &["--checks", "1"]);
    refused("raft --in here", &["the walks of raft are measured in process", "leave out --in"]);
    refused(
        "fs-sync --checks 1000 --depth 1",
        &["fs-sync, 1 mutates deep,", "has 1000 disks", "use --checks 2"],
    );
    refused("fs-sync fs-sync-ext2", &["fs-sync-ext2 runs in vm", "in mem", "separately"]);
    refused("fs-sync --set ext2.fsck=false", &["unknown component of the stack 'ext2'"]);
    refused(
        "fs-sync --each simfile.x=1",
        &["unknown component of the stack 'simfile'", "did you mean 'simfiles'?"],
    );
    refused("fs-sync --each simfiles=1", &["--each simfiles=1", "COMPONENT.KEY=VALUE"]);
    refused("fs-sync-ext2 --each ext2.e2fsck=static,neither", &["'neither'", "shared"]);
    let ran = explode(["bench", "fs-sync-ext2", "--in", "mem"]).expect(3);
    assert!(ran.err.contains("needs a kernel"), "{ran:#?}");
}

/// A stack file is measured with its own checker, or below `--stack` with another one. Its `[run]`
/// has the depth.
#[test]
fn stack_files_are_measured_like_targets() {
    let folder = tempfile::tempdir().unwrap();
    let toyfs = "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"toyfs\"\n";
    let own = "[run]\ndepth = 3\n[checker]\nuse = \"fs-sync\"\n";
    file(folder.path(), "own.toml", format!("{own}{toyfs}"));
    file(folder.path(), "stack.toml", toyfs);
    let ran = |args: &str| explode_in(folder.path(), args.split_whitespace());
    let json = |args: &str| ran(&format!("{args} --checks 2 --format jsonl")).expect(0).json();
    let names = |lines: &[Value]| {
        lines.iter().map(|line| line["target"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&json("bench own.toml toyfs own.toml")), ["own", "toyfs", "own"]);
    assert_eq!(names(&json("bench fs-sync --stack stack.toml")), ["fs-sync-stack"]);
    let sets = json("bench own.toml --each toyfs.metadata=journal,versions");
    let sets: Vec<&Value> = sets.iter().map(|line| &line["set"]).collect();
    assert_eq!(sets, [&json!(["toyfs.metadata=journal"]), &json!(["toyfs.metadata=versions"])]);
    ran("bench stack.toml").refused(&["stack.toml has no [checker]"]);
    ran("bench own.toml --stack toyfs").refused(&["own.toml is a stack already"]);
    ran("bench absent.toml").refused(&["absent.toml"]);
}
