//! Numbers that are too large for memory, a stack, a clock or an offset.

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::log::{crash_disks, mark, submit};
use crate::common::{explode_in, explode_within, file, files};

/// Checks that a run is refused before it begins, with 512 MiB.
#[track_caller]
fn refused(command: &str, words: &[&str]) {
    let folder = tempdir().unwrap();
    let out = folder.path().join("out");
    let args = command.split_whitespace().chain(["--out", out.to_str().unwrap()]);
    explode_within(512, args).refused(words);
    assert!(!out.exists(), "nothing was made");
}

const HUGE: &str = "1000000000000000000";

#[test]
fn bounds_have_a_largest_value() {
    refused(
        "run fs-basic --crash-depth 65",
        &["a crash depth of 65", "use at most 64", "the worker's stack"],
    );
    refused("run fs-basic --crash-depth 4294967295", &["use at most 64"]);
    refused(
        &format!("run fs-basic --limit {HUGE}"),
        &["--limit", HUGE, "use at most 10000000", "memory"],
    );
    refused(
        &format!("run fs-basic --samples {HUGE}"),
        &["--samples", HUGE, "use at most 1000000", "memory"],
    );
    refused("run fs-basic --jobs 100000", &["--jobs", "1..=64"]);
    let matrix = |option: &str| format!("matrix simfiles --check synced --{option} {HUGE}");
    refused(&matrix("limit"), &["--limit", "use at most 10000000"]);
    refused(&matrix("samples"), &["--samples", "use at most 1000000"]);
}

#[test]
fn times_are_a_year_at_most() {
    for option in ["deadline", "budget"] {
        for time in ["1000000000000000000000000000000s", "8761h", "1e300h"] {
            refused(
                &format!("run fs-basic --{option} {time}"),
                &[&format!("--{option}"), time, "8760h"],
            );
        }
    }
    let folder = tempdir().unwrap();
    let args = "run fs-basic --depth 1 --deadline 8760h --budget 8760h --out run";
    explode_in(folder.path(), args.split_whitespace()).expect(0);
}

/// Bounds of a run or of a path allocate nothing.
#[test]
fn large_bounds_cost_nothing() {
    for args in [
        "--depth 4294967295 --states 3",
        "--depth 4294967295 --states 3 --strategy dfs",
        "--depth 4294967295 --states 3 --strategy random",
        "--depth 4294967295 --states 3 --strategy pct:d=100,k=4294967295",
        "--depth 1 --states 1000000000000000000",
        "--depth 1 --chop 4294967295",
        "--depth 1 --limit 10000000 --samples 1000000 --crash-depth 64",
        "--depth 1 --set ramdisk.sectors=18446744073709551608",
    ] {
        let folder = tempdir().unwrap();
        let out = folder.path().join("out");
        let all = ["run", "toyfs", "--out", out.to_str().unwrap()]
            .into_iter()
            .chain(args.split_whitespace());
        explode_within(512, all).expect(0);
    }
}

/// First a trace with more crashes than its depth, then one with an unsupported depth.
#[test]
fn a_trace_is_no_deeper_than_its_options() {
    let folder = tempdir().unwrap();
    for (crashes, depth, words) in [
        (2, 1, "it has 2 crashes during recovery, and the crash depth is 1"),
        (5000, 5000, "a crash depth of 5000; use at most 64"),
    ] {
        let mut trace: Value = serde_json::from_str(crate::traces::trace()).unwrap();
        trace["options"]["crash_depth"] = json!(depth);
        trace["recovery"] = json!(vec![trace["crash_disk"].clone(); crashes]);
        file(folder.path(), "bad.json", trace.to_string());
        for command in ["replay", "minimise"] {
            explode_in(folder.path(), [command, "bad.json"]).refused(&["bad.json: ", words]);
        }
    }
}

#[test]
fn sizes_are_those_that_a_file_can_have() {
    let folder = tempdir().unwrap();
    let refused =
        |args: &str, words: &[&str]| crash_disks(folder.path(), &[mark("a")], args).refused(words);
    let most = i64::MAX as u64 / 512 * 512;
    for size in [most + 512, 1 << 63, u64::MAX - 511, u64::MAX / 512 * 512] {
        let words = [format!("--size {size}"), format!("use {most} or less")];
        refused(&format!("--size {size} --write out"), &[&words[0], &words[1]]);
    }
    refused("--size 0", &["--size 0", "sectors of 512"]);
    refused(&format!("--size {}", u64::MAX), &["sectors of 512"]);
    refused("--size 18446744073709551616", &["--size"]);
    assert!(!folder.path().join("out").exists());
    crash_disks(folder.path(), &[submit(1, 0, most / 512 - 1, 1, 'A')], &format!("--size {most}"))
        .expect(0);
    // The event itself is wrong, whatever the size.
    let beyond = submit(1, 0, u64::MAX / 512, 1, 'A');
    let words = ["line 1", "36028797018963967", "beyond the largest possible device"];
    crash_disks(folder.path(), &[beyond], &format!("--size {most}")).refused(&words);
    refused(&format!("--size 4096 --limit {HUGE}"), &["--limit", "use at most 10000000"]);
    refused(&format!("--size 4096 --samples {HUGE}"), &["--samples", "use at most 1000000"]);
    assert_eq!(files(folder.path()), ["log.jsonl"]);
}

/// The file system of the folder has a smaller limit, so the message names the size.
#[test]
fn an_image_may_be_too_large_for_the_file_system() {
    let folder = tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    std::fs::write(&log, "").unwrap();
    let out = folder.path().join("out");
    let size = i64::MAX as u64 / 512 * 512;
    let line = format!("ulimit -f 100; trap '' XFSZ; exec '{}' \"$@\"", crate::common::program());
    let args = [
        "crash-disks",
        log.to_str().unwrap(),
        "--size",
        &size.to_string(),
        "--write",
        out.to_str().unwrap(),
    ]
    .map(str::to_owned);
    let mut command = std::process::Command::new("sh");
    let ran = crate::common::ran(command.args(["-c", &line, "sh"]).args(args)).expect(2);
    for word in [&format!("--size {size}"), "larger than a file can be", "--write-as logwrites"] {
        assert!(ran.err.contains(word), "{ran:?}");
    }
}
