//! Arguments of the command line.

use std::path::Path;

use tempfile::tempdir;

use crate::common::log::{crash_disks, crash_disks_of, full, mark};
use crate::common::{explode, explode_in, file, files};

/// A run that must be refused before anything is created.
#[track_caller]
fn refused_run(args: &str, words: &[&str]) {
    let folder = tempdir().unwrap();
    let ran = explode_in(folder.path(), ["run"].into_iter().chain(args.split_whitespace()));
    ran.refused(words);
    assert_eq!(files(folder.path()), [""; 0], "nothing was made");
}

#[test]
fn names_and_options_are_suggested() {
    refused_run("sqlite-of", &["unknown target 'sqlite-of'", "did you mean 'sqlite-off'?"]);
    refused_run("fs-basics", &["did you mean 'fs-basic'?"]);
    // A list of all targets would fill the screen.
    refused_run("something-else", &["unknown target 'something-else'; of ", " the nearest are "]);
    refused_run("fs-basic --stack something", &["one of: ", "simfiles"]);
    refused_run("fs-basic --bugdet 3s", &["--bugdet", "--budget"]);
    refused_run("fs-basic --strategy dsf", &["'dsf'", "dfs"]);
    refused_run("fs-basic --completion durabel", &["'durabel'", "durable"]);
    refused_run("fs-basic --format json", &["'json'", "jsonl"]);
    refused_run("fs-basic extra", &["'extra'"]);
    explode(["relpay"]).refused(&["'relpay'", "'replay'"]);
    explode(["list", "target"]).refused(&["'target'", "targets"]);
}

/// A run with these bounds would check nothing and report that it has found nothing.
#[test]
fn bounds_of_zero_are_refused() {
    refused_run("fs-basic --states 0", &["--states 0 explores nothing", "use 1 or more"]);
    refused_run("fs-basic --budget 0s", &["a budget of 0 leaves no time", "use at least 1ms"]);
    refused_run("fs-basic --strategy random --budget 0.5ms", &["a budget of 0 leaves no time"]);
}

/// A repeated option is refused, because its value is unknown. The options of a stack file are an
/// exception: the command line overrides them.
#[test]
fn an_option_that_is_set_twice_is_refused() {
    let twice = |key: &str, first: &str, then: &str| {
        let words = format!("{key} is set twice, to '{first}' and to '{then}'; set it once");
        refused_run(
            &format!("fs-ways --stack simfiles --set {key}={first} --set {key}={then}"),
            &[&words],
        );
    };
    twice("fs-ways.way", "fsync", "sync");
    twice("fs-ways.way", "sync", "sync");
    twice("simfiles.faults", "none", "both");
    let bench = |args: &str| explode(["bench", "toyfs"].into_iter().chain(args.split_whitespace()));
    bench("--set ramdisk.faults=none --each ramdisk.faults=none,both")
        .refused(&["ramdisk.faults is set twice"]);
    let folder = tempdir().unwrap();
    let stack = |set: &str| {
        let text = format!(
            "[run]\nset = [{set}]\n[[component]]\nuse = \"simfiles\"\n[checker]\nuse \
             = \"fs-ways\"\n"
        );
        file(folder.path(), "stack.toml", text);
    };
    let run = |args: &str| {
        let args = format!("run stack.toml --depth 1 --format jsonl {args}");
        explode_in(folder.path(), args.split_whitespace())
    };
    stack("\"fs-ways.way=sync\", \"fs-ways.way=fsync\"");
    run("").refused(&["fs-ways.way is set twice, to 'sync' and to 'fsync'"]);
    stack("\"fs-ways.way=sync\"");
    run("--set fs-ways.way=fsync --set fs-ways.way=o-sync")
        .refused(&["set twice, to 'fsync' and to 'o-sync'"]);
    let options = run("--set fs-ways.way=fsync").expect(0).json();
    assert_eq!(options[0]["checker_options"]["way"], "fsync");
}

/// A checker's need that the stack does not meet is a missing requirement. The checker's options
/// are set like a component's.
#[test]
fn a_way_that_the_stack_does_not_have_is_unsupported() {
    let folder = tempdir().unwrap();
    let run = |setting: &str| {
        let args = format!("run fs-ways --stack simfiles --depth 1 --out run --set {setting}");
        explode_in(folder.path(), args.split_whitespace())
    };
    let refused = run("fs-ways.way=mount-sync").expect(3);
    assert!(refused.err.starts_with("error: unsupported: way 'mount-sync'"), "{refused:?}");
    assert!(refused.err.contains("use --set COMPONENT.sync=true"), "{refused:?}");
    run("fs-ways.way=fsink").refused(&["'fsink'", "did you mean 'fsync'?"]);
    run("fs-ways.wey=fsync").refused(&["unknown option of fs-ways 'wey'", "did you mean 'way'?"]);
    run("fs-ways.way=fsync").expect(0);
}

/// A stack is also unsupported if its top is not of the kind that the checker drives. The message
/// is in plain words.
#[test]
fn a_stack_that_a_checker_cannot_drive_is_unsupported() {
    for (run, words) in [
        (
            "fs-sync --stack journal-kv",
            "this checker needs files, and the stack's top offers an engine",
        ),
        (
            "fs-reasonable --stack ramdisk",
            "this checker needs files, and the stack's top offers a simulated disk",
        ),
        (
            "fs-ways --stack sqlite",
            "this checker needs files, and the stack's top offers an engine",
        ),
        (
            "disk-blocks --stack simfiles",
            "this checker needs a simulated disk, and the stack's top offers files",
        ),
        (
            "merge-whole --stack simfiles",
            "this checker needs an engine (Folder), and the stack's top offers files",
        ),
        (
            "kv-commits --stack sqlite",
            "this checker needs an engine (Store), and the stack's top offers another",
        ),
    ] {
        let folder = tempdir().unwrap();
        let args = format!("run {run} --depth 1 --out run");
        let refused = explode_in(folder.path(), args.split_whitespace()).expect(3);
        assert!(
            refused.err.starts_with(&format!("error: unsupported: {words}\n")),
            "{run}: {refused:?}"
        );
    }
}

/// SQLite would ignore any other size. The largest size is valid.
#[test]
fn pages_of_sqlite_have_sizes_that_there_are() {
    for bytes in [0, 3, 100, 256, 131_072] {
        let words = format!("page_bytes of {bytes}; use a power of two, 512 to 65536");
        refused_run(&format!("sqlite-full --set sqlite.page_bytes={bytes}"), &[&words]);
    }
    for bytes in [512, 65_536] {
        let folder = tempdir().unwrap();
        let args = format!("run sqlite-full --depth 1 --out run --set sqlite.page_bytes={bytes}");
        let ran = explode_in(folder.path(), args.split_whitespace()).expect(0);
        assert!(!ran.out.contains("BROKEN"), "{ran:?}");
    }
}

/// A disk without space for the journal causes no panic.
#[test]
fn small_disks_are_refused_in_words() {
    for (target, least) in [("toyfs", 128), ("toyfs-in-place", 128), ("journal-kv", 521)] {
        for sectors in [8, 64, 120] {
            let folder = tempdir().unwrap();
            let args = format!("run {target} --depth 1 --out run --set ramdisk.sectors={sectors}");
            let refused = explode_in(folder.path(), args.split_whitespace()).expect(4);
            let words = format!("needs a disk of {least} sectors at least, and has {sectors}\n");
            assert!(
                refused.err.ends_with(&words) && !refused.err.contains("panicked"),
                "{refused:?}"
            );
        }
    }
}

#[test]
fn numbers_are_within_their_bounds() {
    for budget in ["nonsense", "10", "s", "-5s", "1e400s", "nans", "infs", "5 s", "5d", ""] {
        let ran = explode(["run", "fs-basic", &format!("--budget={budget}")]);
        ran.refused(&["--budget", "500ms, 60s, 5m, 8h"]);
    }
    refused_run("fs-basic --seed=-1", &["--seed", "-1"]);
    refused_run("fs-basic --seed 18446744073709551616", &["--seed"]);
    refused_run("fs-basic --depth 1.5", &["--depth"]);
    refused_run("fs-basic --depth 0", &["depth of 0", "at least 1"]);
    refused_run("fs-basic --samples 1", &["at least 2"]);
    refused_run("fs-basic --block 0", &["block of 0", "multiple of 512"]);
    refused_run("fs-basic --block 1000", &["block of 1000", "multiple of 512"]);
    refused_run("fs-basic --block 2097152", &["up to 1048576"]);
    refused_run("fs-basic --strategy random", &["does not end", "--budget", "--states"]);
}

#[test]
fn out_is_absent_or_an_empty_folder() {
    let folder = tempdir().unwrap();
    let run =
        |out: &Path| explode(["run", "fs-basic", "--depth", "1", "--out", out.to_str().unwrap()]);
    let used = file(folder.path(), "used", "here");
    run(folder.path()).refused(&[folder.path().to_str().unwrap(), "--out", "not empty", "another"]);
    run(&used).refused(&["used", "--out", "not a folder", "another"]);
    assert_eq!(std::fs::read(&used).unwrap(), b"here");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    run(&empty).expect(0);
    run(&empty).refused(&["not empty"]);
    run(&folder.path().join("some/where/deep")).expect(0);
}

#[test]
fn files_that_are_not_there_are_named() {
    let folder = tempdir().unwrap();
    let absent = folder.path().join("absent");
    crash_disks_of(&absent, "--size 512").refused(&["absent", "No such file"]);
    explode(["replay", absent.to_str().unwrap()]).refused(&["absent", "No such file"]);
    crash_disks_of(folder.path(), "--size 512").refused(&["Is a directory"]);
    explode(["replay", folder.path().to_str().unwrap()]).refused(&["Is a directory"]);
    let args = format!("--size 512 --base {}", absent.display());
    crash_disks(folder.path(), &[], &args).refused(&["absent", "No such file"]);
}

#[test]
fn a_base_has_the_size_of_the_device() {
    let folder = tempdir().unwrap();
    for sectors in [0, 7, 9, 1000] {
        let base = file(folder.path(), "base.img", full(sectors, 'P'));
        let args = format!("--size 4096 --base {}", base.display());
        let bytes = format!("{} bytes", sectors * 512);
        crash_disks(folder.path(), &[], &args).refused(&["base.img", &bytes, "4096", "--size"]);
    }
    crash_disks(folder.path(), &[], "--size 4096 --base /dev/zero").refused(&["/dev/zero", "4096"]);
}

#[test]
fn the_numbers_of_crash_disks_are_checked() {
    let folder = tempdir().unwrap();
    let refused =
        |args: &str, words: &[&str]| crash_disks(folder.path(), &[mark("a")], args).refused(words);
    refused("--size 1000", &["--size 1000", "sectors of 512"]);
    refused("--size 4k", &["--size", "4k"]);
    refused("", &["--size"]);
    refused("--size 4096 --block 0", &["--block 0", "sectors of 512"]);
    refused("--size 4096 --block 700", &["--block 700", "sectors of 512"]);
    refused("--size 4096 --samples 1", &["--samples", "at least 2"]);
    refused("--size 4096 --from nowhere", &["log.jsonl", "--from nowhere", "no such mark"]);
    refused("--size 4096 --to nowhere", &["log.jsonl", "--to nowhere", "no such mark"]);
    refused("--size 4096 --from a --to a", &["--to a", "after the mark of --from"]);
    refused("--size 4096 --write-as img", &["--write"]);
}
