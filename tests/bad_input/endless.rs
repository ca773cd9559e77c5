//! Inputs that do not end, or that ask for more memory than exists: the error names the limit. The
//! program has little memory, so that a test fails fast if an input is not refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::log::{complete, dirty, flush, full, lines, submit};
use crate::common::logwrites::LogWrites;
use crate::common::{Ran, explode_in, explode_within, file, program, ran};

/// Runs `explode crash-disks` on this log, with 512 MiB.
fn crash_disks(events: &[Value], args: &str) -> Ran {
    let folder = tempdir().unwrap();
    let log = file(folder.path(), "log.jsonl", lines(events));
    let args = ["crash-disks", log.to_str().unwrap()].into_iter().chain(args.split_whitespace());
    explode_within(512, args)
}

/// Runs `explode crash-disks` on the output of a shell command, through a pipe, with 1 GiB.
fn piped(command: &str, args: &str) -> Ran {
    let line = format!(
        "ulimit -v 1048576; {{ {command}; }} 2>/dev/null | '{}' crash-disks /dev/stdin {args}",
        program()
    );
    ran(Command::new("sh").args(["-c", &line]))
}

fn discard(id: u64, sector: u64, bytes: u64) -> Value {
    json!({ "e": "submit", "id": id, "dev": 0, "sector": sector, "len": bytes, "op": "discard" })
}

const GIB: u64 = 1 << 30;

/// A log of 90 bytes. The count needs all of its pieces, which are too many, unless the request is
/// one piece.
#[test]
fn a_short_log_may_have_too_many_pieces() {
    let args = "--size 4294967296";
    let log = [discard(1, 0, 4 * GIB)];
    let advice = [
        "log.jsonl: line 1: ",
        "23446 are supported",
        "use --atom block, --atom request or a larger --block",
    ];
    let words = |pieces| [&[pieces][..], &advice].concat();
    crash_disks(&log, &format!("{args} --atom sector"))
        .refused(&words("8388608 pieces would be pending"));
    crash_disks(&log, args).refused(&words("1048576 pieces would be pending"));
    for args in ["--atom request", "--block 1048576", "--samples 2 --block 131072"] {
        let reported =
            crash_disks(&log, &format!("--size 4294967296 {args} --format jsonl")).expect(0).json();
        let [disk, summary] = &reported[..] else { panic!("{reported:?}") };
        assert_eq!(disk["id"], "0".repeat(32), "a discard of zeroes changes nothing");
        assert_eq!(summary["distinct"], 1);
    }
    // A piece that is already pending counts once.
    let again = [discard(1, 0, GIB / 8), discard(2, 0, GIB / 8), discard(3, GIB / 4096, GIB / 8)];
    let args = format!("{args} --samples 1024");
    crash_disks(&again[..1], &format!("{args} --block 65536")).expect(0);
    crash_disks(&again, &args).refused(&["line 3", "65536 pieces", "32768 are supported"]);
}

/// The cost of a range depends on the pending pieces in it, not on its length.
#[test]
fn long_ranges_take_no_time() {
    let far = 1u64 << 62;
    let range = |kind: &str| json!({ "e": kind, "dev": 0, "sector": 0, "len": far });
    let log =
        [dirty(0, 1, 1, 'A'), range("lock"), range("unlock"), range("clean"), dirty(0, 1, 1, 'B')];
    let reported = crash_disks(&log, &format!("--size {far} --format jsonl")).expect(0).json();
    assert_eq!(reported.last().unwrap()["distinct"], 3);
}

/// Requests in flight and worlds multiply the number of pieces.
#[test]
fn requests_in_flight_may_be_too_many() {
    let mut log = vec![discard(1, 0, GIB / 2), complete(1)];
    log.extend((2..200).map(|id| flush(id, 0)));
    crash_disks(&log, "--size 1073741824 --samples 2").refused(&[
        "line 131",
        "requests in flight",
        "16777216 are supported",
    ]);
    let preflush = |id: u64| {
        let mut event = submit(id, 0, id * 8, 8, 'A');
        event["flags"] = json!(["preflush"]);
        event
    };
    let mut log: Vec<Value> = (0..16).map(preflush).collect();
    log.extend((100..200).map(|sector| dirty(0, sector * 8, 8, 'B')));
    crash_disks(&log, "--size 1048576").refused(&["line 33", "33 pieces", "65536 worlds"]);
}

#[test]
fn too_many_disks_to_list_are_refused() {
    let log: Vec<Value> = (0..1000).map(|block| dirty(0, block * 8, 1, 'A')).collect();
    let args = "--size 1073741824 --samples 20000";
    crash_disks(&log, args).refused(&[
        "log.jsonl: ",
        "too many to list",
        "use a smaller --limit, fewer --samples",
    ]);
}

#[test]
fn logs_that_do_not_end_are_refused() {
    let refused = |command: &str, args: &str, words: &[&str]| piped(command, args).refused(words);
    explode_within(512, ["crash-disks", "/dev/zero", "--size", "512"])
        .refused(&["/dev/zero: line 1: not an event"]);
    let mark = r#"yes '{"e":"mark","name":"a"}'"#;
    refused(
        mark,
        "--size 512 --log-events 1000",
        &["more than 1000 events", "raise the limit with --log-events"],
    );
    refused(
        r#"yes '{"e":"syscall"}'"#,
        "--size 512 --log-bytes 99999",
        &["more than 99999 bytes", "--log-bytes"],
    );
    refused(
        "printf '{'; cat /dev/zero",
        "--size 512",
        &["line 1: it has more than 67108864 bytes"],
    );
    refused("printf '{'; cat /dev/zero", "--size 512 --log-bytes 9999", &["more than 9999 bytes"]);
    // A log at the limit is read.
    piped(&format!("{mark} | head -n 1000"), "--size 512 --log-events 1000 --log-bytes 24000")
        .expect(0);
    refused(
        &format!("{mark} | head -n 1000"),
        "--size 512 --log-bytes 23999",
        &["more than 23999 bytes"],
    );
}

/// Entries without data after the superblock of dm-log-writes, and data of a false length.
#[test]
fn binary_logs_that_do_not_end_are_refused() {
    let folder = tempdir().unwrap();
    let head = file(folder.path(), "head", LogWrites::new(512).finish_as(1, u64::MAX, 512));
    let zeroes = format!("cat {} /dev/zero", head.display());
    piped(&zeroes, "--size 512 --log-events 1000")
        .refused(&["more than 1000 events", "--log-events"]);
    piped(&zeroes, "--size 512 --log-bytes 100000")
        .refused(&["more than 100000 bytes", "--log-bytes"]);
    let long = LogWrites::new(512).entry([0, 1 << 22, 0, 0], &[]).finish_as(1, 1, 512);
    let long = file(folder.path(), "long", long);
    let data = format!("cat {} /dev/zero", long.display());
    piped(&data, "--size 4294967296 --log-bytes 9000000").refused(&["more than 9000000 bytes"]);
}

#[test]
fn images_that_do_not_end_are_refused() {
    let folder = tempdir().unwrap();
    let log = file(folder.path(), "log.jsonl", lines(&[dirty(0, 0, 1, 'A')]));
    let size = (1u64 << 40).to_string();
    let based = |base: &Path| {
        let args = [
            "crash-disks",
            log.to_str().unwrap(),
            "--format",
            "jsonl",
            "--size",
            &size,
            "--base",
            base.to_str().unwrap(),
        ];
        explode_within(512, args)
    };
    based(Path::new("/dev/zero")).refused(&[
        "/dev/zero: a character device is no image",
        &size,
        "--size",
    ]);
    // Holes cost nothing.
    let sparse = file(folder.path(), "sparse", full(9, 'P'));
    fs::File::options().write(true).open(&sparse).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(based(&sparse).expect(0).json().last().unwrap()["distinct"], 2);
    // Images through a pipe. An image of exactly the right size is valid.
    let log = log.display();
    let piped = |command: &str, size: u64| {
        let line = format!(
            "ulimit -v 524288; {{ {command}; }} 2>/dev/null | '{}' crash-disks {log} --format \
             jsonl --size {size} --base /dev/stdin",
            program()
        );
        ran(Command::new("sh").args(["-c", &line]))
    };
    piped("cat /dev/zero", 1 << 30).refused(&["/dev/stdin: more than 1073741824 bytes", "--size"]);
    piped("head -c 5000 /dev/zero", 8192).refused(&["/dev/stdin: 5000 bytes", "8192 (--size)"]);
    let sectors = format!("head -c 4608 {}", sparse.display());
    let image = file(folder.path(), "image", full(9, 'P'));
    let of_file = format!("--format jsonl --size 4608 --base {}", image.display());
    let of_file = explode_within(
        512,
        ["crash-disks", &log.to_string()].into_iter().chain(of_file.split_whitespace()),
    );
    assert_eq!(piped(&sectors, 4608).expect(0).out, of_file.expect(0).out);
}

#[test]
fn traces_that_do_not_end_are_refused() {
    for command in ["replay", "show", "minimise"] {
        explode_within(1024, [command, "/dev/zero"])
            .refused(&["/dev/zero: ", "more than 268435456 bytes"]);
    }
    let folder = tempdir().unwrap();
    let out = folder.path().join("run");
    let args =
        ["run", "fs-basic", "--strategy", "prefix:/dev/zero", "--out", out.to_str().unwrap()];
    explode_within(1024, args).refused(&["/dev/zero: ", "more than 268435456 bytes"]);
    assert!(!out.exists());
}

#[test]
fn stack_files_and_folders_that_do_not_end_are_refused() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let within = |args: &[&Path]| explode_within(512, args.iter().map(|arg| arg.as_os_str()));
    symlink("/dev/zero", path("stack.toml")).unwrap();
    within(&[Path::new("run"), &path("stack.toml")])
        .refused(&["stack.toml: ", "more than 1048576 bytes"]);
    fs::create_dir(path("m")).unwrap();
    let (grid, resume) = (path("m/grid.json"), Path::new("--resume"));
    symlink("/dev/zero", &grid).unwrap();
    within(&[Path::new("matrix"), resume, &path("m")]).refused(&["grid.json: ", "symbolic link"]);
    fs::remove_file(&grid).unwrap();
    fs::File::create(&grid).unwrap().set_len(1 << 40).unwrap();
    within(&[Path::new("matrix"), resume, &path("m")])
        .refused(&["grid.json: ", "more than 16777216 bytes"]);
    explode_in(folder.path(), ["run", "fs-basic", "--depth", "1", "--out", "run"]).expect(0);
    for name in ["journal", "run.jsonl"] {
        let (file, kept) = (path(&format!("run/{name}")), path("kept"));
        fs::rename(&file, &kept).unwrap();
        symlink("/dev/zero", &file).unwrap();
        within(&[Path::new("run"), resume, &path("run")])
            .refused(&[name, "this is a symbolic link"]);
        fs::remove_file(&file).unwrap();
        fs::rename(&kept, &file).unwrap();
    }
    within(&[Path::new("run"), resume, &path("run")]).expect(0);
}

/// The nesting of a stack file. `traces.rs` and `logs.rs` test that of JSON.
#[test]
fn deep_stack_files_are_refused() {
    let deep = |open: &str| format!("[run]\na = {}", open.repeat(100_000));
    let dots = format!("[run]\n{}a = 1", "a.".repeat(100_000));
    for text in [deep("["), deep("{a="), dots, format!("[{}a]", "a.".repeat(100_000))] {
        let folder = tempdir().unwrap();
        let stack = file(folder.path(), "stack.toml", text);
        explode_within(512, ["run", stack.to_str().unwrap()]).refused(&["stack.toml:", "recur"]);
    }
}
