//! The page's example in a guest: no finding as it is, and a finding without its fsync.

use std::fs;

use explode_vm::{BuildOptions, Builder, Cache, KernelSource, Silent};
use serde_json::{Value, json};

use crate::Desk;
use crate::common::{guest, of_type, rootfs, shell};
use crate::page::examples;

const SYNCED: &str = "notes add {path}";
const BUG: &str = "notes add --no-sync {path}";

/// A file system made of commands on its own disk, and notes on both.
const MADE: &str = r#"
[[component]]
name = "d1"
use = "ramdisk"

[[component]]
name = "made"
init = "mke2fs -q -t ext2 -U 6c1f2a3e-1111-4222-8333-444455556666 {dev}"
mount = "mount -t ext2 {dev} {path}"
unmount = "umount {path}"
recover = "e2fsck -fy {dev}"
recover_ok = [0, 1]
threads = "echo 1"

[[component]]
name = "notes"
children = ["ext4", "made"]
init = "notes create {child}/db && notes create {child.2}/db && test -b {dev.2}"
"#;
const NOTES: &str = r#"
[[component]]
name = "notes"
init = "notes create {child}/db"
"#;

/// Returns the versions in a trace of file systems in a guest whose layers run programs of the
/// packages of these two, and no others of the image.
fn versions(programs: [&str; 2]) -> Value {
    let (cache, options) = (Cache::of_user().unwrap(), BuildOptions::of_environment().unwrap());
    let builder = Builder { cache: &cache, options: &options, progress: &Silent };
    let (image, kernel) =
        (builder.image().unwrap(), builder.kernel(&KernelSource::Debian).unwrap());
    let explode = env!("CARGO_PKG_VERSION");
    let mut versions =
        json!({ "explode": explode, "linux": kernel.release(), "image": image.hash });
    for (_, package, version) in
        image.programs.iter().filter(|(path, ..)| programs.contains(&&**path))
    {
        versions[package] = json!(version);
    }
    assert_eq!(versions.as_object().unwrap().len(), 5, "{versions}");
    versions
}

/// One boot for the run. The guest does not have `notes`, so it is copied there with its libraries.
#[test]
fn a_program_that_syncs_keeps_its_promise_on_ext4() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    assert!(examples()[0].contains(NOTES));
    let stack = examples()[0]
        .replace(NOTES, MADE)
        .replace("check = \"", "check = \"test -f /run/explode/crash/made/db && ");
    desk.write(&stack);
    let ran = desk.explode("run test.toml --crash-depth 0 --format jsonl --out run").expect(0);
    let lines = ran.json();
    let summary = lines.last().unwrap();
    assert_eq!((&lines[0]["in"], &summary["broken"]), (&"vm".into(), &0.into()), "{ran:?}");
    assert_eq!(lines[0]["versions"], versions(["/sbin/mke2fs", "/bin/mount"]), "{ran:?}");
    // "add" twice, "nothing", which leads to a known state, and the two after the first "add".
    assert_eq!((&summary["states"], &summary["operations"]), (&3.into(), &4.into()), "{ran:?}");
}

/// One boot for the run, and one for the replay of its finding.
#[test]
fn a_missing_fsync_on_ext4_is_found_and_replays_without_the_file() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    assert!(examples()[0].contains(SYNCED));
    let path = desk.write(&examples()[0].replace(SYNCED, BUG));
    let ran = desk.explode("run test.toml --depth 1 --format jsonl --out run").expect(1);
    let lines = ran.json();
    let finding = of_type(&lines, "finding")[0];
    assert_eq!(
        (&finding["verdict"], &finding["epoch"]),
        (&"check-failed".into(), &"end".into()),
        "{ran:?}"
    );
    assert_eq!(finding["message"], "the note k1 was added, and is gone");
    // The replay gets only the trace.
    assert_eq!(finding["replayed"], true, "{ran:?}");
    let trace = fs::read_to_string(desk.0.path().join(finding["trace"].as_str().unwrap())).unwrap();
    assert!(trace.contains(BUG) && !trace.contains(path.to_str().unwrap()), "{trace}");
}

/// A process that a component starts. `START` begins its command.
const DAEMON: &str = r#"
[[component]]
use = "ramdisk"
size = "1MiB"
[[component]]
name = "daemon"
mount = "START sleep 600 >{path}/said 2>&1 & echo $! >{path}/pid"
unmount = "kill $(cat {path}/pid); rm {path}/*"
threads = "cat {path}/pid"
"#;

/// One boot each: a process that takes turns like its parent, one with another scheduling policy,
/// and one that has ended.
#[test]
fn processes_of_a_component_are_there_and_take_turns() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    let run = |start: &str, code: i32| {
        let text = format!("[run]\ndepth = 1\n{DAEMON}{}", crate::IDLE).replace("START", start);
        desk.run(&text.replace("{ sh = \"true\" }", "{ crash = [] }"), code)
    };
    let ran = run("", 0);
    assert_eq!(
        (&ran.summary()["states"], &ran.summary()["checked"]),
        (&2.into(), &1.into()),
        "{ran:?}"
    );
    let other = run("chrt -b 0", 4).broken();
    assert!(
        other.starts_with("daemon: task ") && other.contains(" has its own scheduling policy"),
        "{other}"
    );
    let gone = run("wait; false", 4).broken();
    assert!(
        gone.starts_with("daemon: `threads` printed ")
            && gone.ends_with(", and there is no such task"),
        "{gone}"
    );
}

/// A disk, and `LAYERS` on it below a checker of explode's.
const ON_A_DISK: &str = r#"
[run]
depth = 1
limit = 8
samples = 4
crash_depth = 0
[[component]]
use = "ramdisk"
flushes = "kept"
LAYERS
[checker]
use = "fs-basic"
"#;

/// A loop device, and explode's ext4 on it.
const DEVICE: &str = r#"
[[component]]
name = "loop"
provides = "device"
mount = "losetup -f --show {dev}"
unmount = "losetup -j {dev} | cut -d : -f 1 | xargs losetup -d"
[[component]]
use = "ext4"
"#;

/// A file system made of commands.
const FILES: &str = r#"
[[component]]
name = "made"
provides = "files"
init = "mke2fs -q -t ext4 -E lazy_itable_init=0,lazy_journal_init=0,hash_seed=6c1f2a3e-1111-4222-8333-444455556666 -U 6c1f2a3e-1111-4222-8333-444455556666 {dev}"
mount = "mount -t ext4 -o noinit_itable {dev} {path}"
unmount = "umount {path}"
"#;

/// One boot each: layers of commands below explode's own, which keep what is synced unless the disk
/// ignores flushes, and a layer that prints no device.
#[test]
fn layers_of_commands_offer_a_device_or_files() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    let [device, files] = [DEVICE, FILES].map(|layers| ON_A_DISK.replace("LAYERS", layers));
    for layers in [&device, &files] {
        // 13 steps, and two starts on committed files.
        let clean = desk.run(layers, 0);
        assert_eq!(clean.summary()["states"], 16, "{clean:?}");
        let lying = desk.run(&layers.replace("\"kept\"", "\"dropped\""), 1);
        assert!(lying.summary()["findings"].as_u64() > Some(0), "{lying:?}");
    }
    let none = desk.run(&device.replace("losetup -f --show {dev}", "echo /root"), 4).broken();
    assert!(none.contains("`mount` printed '/root', which is no block device"), "{none}");
}

/// One boot for each of the first two: arrays that cannot be made.
#[test]
fn arrays_that_cannot_be_made_are_refused() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    let array = |options: &str| {
        let disks = ["d0", "d1"]
            .map(|name| format!("[[component]]\nuse = \"ramdisk\"\nname = \"{name}\"\n"));
        let md = format!("[[component]]\nuse = \"md\"\n{options}\nchildren = [\"d0\", \"d1\"]\n");
        format!("{}{md}[checker]\nuse = \"disk-blocks\"\n", disks.concat())
    };
    let few = desk.run(&array("level = 5"), 4).broken();
    assert!(few.contains("level 5 needs 3 disks or more below it, and has 2"), "{few}");
    desk.write(&array("level = 0").replace("name = \"d0\"", "name = \"d0\"\nfaults = \"stale\""));
    let alone = "d0: 'faults' lets the disk fail, and no layer above can do without it";
    desk.explode("run test.toml").refused(&[alone]);
    desk.write(&array("level = 1"));
    let here = desk.explode("run test.toml --in here");
    here.refused(&["component 'md' cannot run in here; use --in vm"]);
}

/// No boot: a missing program is reported before.
#[test]
fn a_missing_program_is_named() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    desk.write(&examples()[0].replace("notes dump", "no-such-notes dump"));
    let ran = desk.explode("run test.toml").expect(3);
    assert!(
        ran.err
            .contains("'no-such-notes' is neither in the guest's image nor on this machine's PATH"),
        "{ran:?}"
    );
}

/// A tool of several processes that replaces three files, one after the other or all at once.
const TOOL: &str = r#"
[run]
depth = 1
soft = true
[[component]]
use = "ramdisk"
size = "16MiB"
[[component]]
use = "ext4"
block_size = 1024
[[component]]
name = "tool"
init = "cd {child} && mkdir v1 v2 && for f in a b c; do echo old >v1/$f; echo new >v2/$f; done && ln -s v1 now"
[checker]
name = "whole"
mutate = [ { name = "merge", steps = [ { start = ["merged"] }, { sh = "cd {path} && MERGE", must = true }, { end = ["merged"] } ] } ]
check = """
cd {path} && now=$(cat now/a now/b now/c | tr -d '\\n')
case $EXPLODE_EPOCH:$now in
soft:newnewnew | in-between:oldoldold | in-between:newnewnew) exit 0 ;;
*) echo "a mixture: $now"; exit 1 ;;
esac
"""
"#;

/// One boot for the run, one for the replays of both findings, and one for each of the others.
/// Every `mv` is a separate process.
#[test]
fn three_renames_of_three_processes_are_caught_by_the_first_two_prefixes() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    let tool = |merge: &str| TOOL.replace("MERGE", merge);
    desk.write(&tool("mv v2/a v1/a && mv v2/b v1/b && mv v2/c v1/c"));
    let ran = desk.explode("run test.toml --format jsonl --out run").expect(1);
    let lines = ran.json();
    let summary = lines.last().unwrap();
    let counts = ["crash_disks", "distinct", "checked", "left_out", "broken", "findings"];
    assert_eq!(counts.map(|key| summary[key].as_u64().unwrap()), [3, 3, 3, 0, 0, 2], "{ran:?}");
    let hidden =
        "ext4: what is stored through a shared mapping (mmap), until crash checks are asked for";
    for key in ["unobserved", "hides"] {
        assert_eq!(lines[0][key], serde_json::json!([hidden]));
    }
    let findings = of_type(&lines, "finding");
    let found = |finding: &serde_json::Value| {
        assert_eq!(
            (&finding["epoch"], &finding["replayed"]),
            (&"soft".into(), &true.into()),
            "{finding}"
        );
        assert_eq!(finding["count"], 1, "{finding}");
        finding["message"].as_str().unwrap().to_owned()
    };
    let messages: Vec<_> = findings.iter().map(|finding| found(finding)).collect();
    assert_eq!(messages, ["a mixture: newoldold", "a mixture: newnewold"]);
    let trace = findings[1]["trace"].as_str().unwrap();
    let shown = desk.explode(&format!("show --run {trace}")).expect(0);
    for operation in ["rename /v2/a /v1/a", "rename /v2/b /v1/b"] {
        assert!(shown.out.contains(&format!(" operation {operation}\n")), "{shown:?}");
    }
    assert!(!shown.out.contains("/v1/c"), "{shown:?}");
    desk.explode(&format!("replay {trace}")).expect(1);
}

/// One boot. The fixed twin creates a link and renames it: two operations.
#[test]
fn one_rename_of_a_link_is_silent() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    desk.write(&TOOL.replace("MERGE", "ln -s v2 next && mv -T next now"));
    let ran = desk.explode("run test.toml --require-complete --format jsonl --out run").expect(0);
    let lines = ran.json();
    let summary = lines.last().unwrap();
    let counts = ["crash_disks", "distinct", "checked", "broken", "findings"];
    assert_eq!(counts.map(|key| summary[key].as_u64().unwrap()), [2, 2, 2, 0, 0], "{ran:?}");
}

/// A file that is replaced, or a directory that is renamed, twice on each path.
const DEEPER: &str = r#"
[run]
depth = 2
soft = true
[[component]]
use = "ramdisk"
size = "16MiB"
[[component]]
use = "ext4"
block_size = 1024
[[component]]
name = "kept"
init = "echo 0 >{child}/n"
[checker]
name = "kept"
mutate = [
  { name = "add", steps = [ { start = [] }, { sh = "echo {n} >{path}/n.new; mv {path}/n.new {path}/n", must = true }, { end = [] } ] },
  { name = "move", steps = [ { start = [] }, { sh = "mkdir {path}/d{n}; mv {path}/d{n} {path}/e{n}", must = true }, { end = [] } ] },
]
check = "test -s {path}/n"
"#;

/// One boot each. Three times three operations and three times two. A chop makes the earlier calls
/// durable.
#[test]
fn deeper_states_repeat_the_calls_that_lead_there_chopped_or_not() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    desk.write(DEEPER);
    for (out, options) in [("whole", ""), ("chopped", "--chop 1 ")] {
        let ran =
            desk.explode(&format!("run test.toml {options}--format jsonl --out {out}")).expect(0);
        let lines = ran.json();
        let summary = lines.last().unwrap();
        let counts = ["states", "operations", "crash_disks", "distinct", "broken", "findings"];
        assert_eq!(
            counts.map(|key| summary[key].as_u64().unwrap()),
            [7, 6, 15, 15, 0, 0],
            "{ran:?}"
        );
    }
}

/// Two file systems, and a layer above that has changed one of them during its mount.
const BOTH: &str = r#"
[run]
depth = 1
soft = true
[[component]]
name = "d0"
use = "ramdisk"
size = "16MiB"
[[component]]
use = "ext4"
block_size = 1024
[[component]]
name = "d1"
use = "ramdisk"
[[component]]
name = "made"
init = "mke2fs -q -t ext2 -U 6c1f2a3e-1111-4222-8333-444455556666 {dev}"
mount = "mount -t ext2 {dev} {path}"
unmount = "umount {path}"
recover = "e2fsck -fy {dev}"
recover_ok = [0, 1]
[[component]]
name = "both"
children = ["ext4", "made"]
init = "echo 0 >{child}/n; echo 0 >{child.2}/n"
mount = "echo there >{child}/mounted; ln -sfn {child} {path}/a; ln -sfn {child.2} {path}/b"
[checker]
name = "alike"
mutate = [
  { name = "add", steps = [
    { crash = [] }, { start = [] },
    { sh = "cd {path} && echo 1 >a/n.new && mv a/n.new a/n && echo 1 >b/n.new && mv b/n.new b/n", must = true },
    { crash = [] }, { sh = "rm {path}/a/mounted", must = true }, { end = [] },
  ] },
]
check = "a=$(cat {path}/a/n); b=$(cat {path}/b/n); [ $a = $b ] || { echo a is $a and b is $b; exit 1; }"
"#;

/// One boot for the run, and one for the replay.
#[test]
fn calls_on_two_file_systems_are_in_one_order() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    desk.write(BOTH);
    let ran = desk.explode("run test.toml --format jsonl --out run").expect(1);
    let lines = ran.json();
    let summary = lines.last().unwrap();
    // Two instants and seven operations. The third operation is a rename on one file system, and
    // the sixth the same on the other.
    let counts = ["crash_disks", "distinct", "broken", "findings"];
    assert_eq!(counts.map(|key| summary[key].as_u64().unwrap()), [9, 9, 0, 1], "{ran:?}");
    let finding = of_type(&lines, "finding").pop().unwrap();
    assert_eq!(
        (&finding["message"], &finding["count"]),
        (&"a is 1 and b is 0".into(), &3.into()),
        "{ran:?}"
    );
    assert_eq!(finding["replayed"], true, "{ran:?}");
}

/// gawk needs four libraries that the image lacks. The link `awk` would come from one of its scripts.
/// The finding is replayed in another guest with the same packages.
#[test]
fn packages_come_with_what_they_need() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    let file = "[run]\ndepth = 1\nin = \"vm\"\n[guest]\npackages = [\"gawk\"]\n\
                [[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"ext2\"\n\
                [checker]\nname = \"counts\"\n\
                check = \"awk --version | grep -q '^GNU Awk' || exit 1; test -e {path}/a || { echo it is gone; exit 1; }\"\n\
                mutate = [ { name = \"make\", steps = [ { sh = \"gawk 'BEGIN { print 1 > \\\"{path}/a\\\" }'\", must = true }, { crash = [] } ] } ]\n";
    desk.write(file);
    let ran = desk.explode("run test.toml --format jsonl --out run").expect(1);
    let lines = ran.json();
    assert_eq!(lines[0]["options"]["guest"], json!({ "packages": ["gawk"] }), "{ran:?}");
    let findings = of_type(&lines, "finding");
    let [finding] = findings[..] else { panic!("{ran:?}") };
    assert_eq!(finding["replayed"], true, "{ran:?}");
    assert!(finding["message"].as_str().unwrap().contains("it is gone"), "{ran:?}");
    let trace: Value = serde_json::from_slice(
        &fs::read(desk.path().join(finding["trace"].as_str().unwrap())).unwrap(),
    )
    .unwrap();
    for package in ["gawk", "libreadline8", "libc6"] {
        let version = trace["versions"][package].as_str().expect("each package has a version");
        assert!(version.starts_with(|digit: char| digit.is_ascii_digit()), "{package}: {version}");
    }
    for text in ["MiB of memory", "guest: booted in"] {
        assert!(ran.err.contains(text), "{ran:?}");
    }

    let refused = |guest: &str, words: &[&str]| {
        desk.write(&file.replace("packages = [\"gawk\"]", guest));
        desk.explode("run test.toml").refused(words);
    };
    refused("packages = [\"gawk\"]\nwithout = [\"git\"]", &["gawk does not need it; omit it"]);
    refused("packages = [\"-y\"]", &["'-y' is no name of a package"]);
    refused("packages = \"gawk\"", &["'packages' is a list, and here it is a text"]);
    refused("without = [\"libc6\"]", &["there are no 'packages'"]);
    desk.write(file);
    desk.explode("run test.toml --in here")
        .refused(&["names packages or a 'rootfs'", "use --in vm"]);
    desk.write(&file.replace("gawk\"]", "no-such-gawk\"]"));
    let ran = desk.explode("run test.toml").expect(3);
    assert!(ran.err.contains("Unable to locate package no-such-gawk"), "{ran:?}");
}

/// The commands run in the archive, on a file system that explode's own programs make outside. A
/// layer of commands mounts inside, and explode's checker sees it outside.
#[test]
fn commands_run_in_a_rootfs() {
    if !guest::required() {
        return;
    }
    let desk = Desk::new();
    rootfs::make(desk.0.path(), "/bin/sh /bin/cat /bin/mount /bin/umount");
    let head = "[run]\ndepth = 1\nlimit = 4\nsamples = 2\ncrash_depth = 0\nin = \"vm\"\n\
                [guest]\nrootfs = \"rootfs.tar.gz\"\n[[component]]\nuse = \"ramdisk\"\n\
                [[component]]\nuse = \"ext2\"\n";
    let file = format!(
        "{head}[[component]]\nname = \"bound\"\nprovides = \"files\"\n\
         mount = \"mount --bind {{child}} {{path}}\"\nunmount = \"umount {{path}}\"\n\
         [checker]\nname = \"counts\"\n\
         check = \"test $(cat /etc/origin) = archive || exit 2; test -e {{path}}/a || \
         {{ echo it is gone; exit 1; }}\"\n\
         mutate = [ {{ name = \"make\", steps = [ {{ sh = \"cat /etc/origin > {{path}}/a\", \
         must = true }}, {{ crash = [] }} ] }} ]\n"
    );
    desk.write(&file);
    let ran = desk.explode("run test.toml --format jsonl --out run").expect(1);
    let lines = ran.json();
    let rootfs = &lines[0]["options"]["guest"]["rootfs"];
    assert!(
        rootfs["file"].as_str().is_some_and(|file| file.ends_with("/rootfs.tar.gz")),
        "{ran:?}"
    );
    let findings = of_type(&lines, "finding");
    let [finding] = findings[..] else { panic!("{ran:?}") };
    assert_eq!((&finding["replayed"], &finding["message"]), (&json!(true), &json!("it is gone")));
    assert!(ran.err.contains("guest: rootfs ") && ran.err.contains(" MiB; "), "{ran:?}");

    let refused = |from: &str, to: &str, words: &[&str]| {
        desk.write(&file.replace(from, to));
        let ran = desk.explode("run test.toml").expect(2);
        assert!(words.iter().all(|word| ran.err.contains(word)), "{ran:?}");
    };
    refused("rootfs.tar.gz", "empty.tar", &["has no /bin/sh", "docker export"]);
    refused("rootfs.tar.gz", "broken.tar", &["cannot be unpacked"]);
    desk.write(&file.replace("mount --bind", "no-such-mount"));
    let ran = desk.explode("run test.toml").expect(3);
    assert!(ran.err.contains("the program 'no-such-mount' is not in the guest's 'rootfs'"));
    // A replay needs the same archive.
    desk.write(&file);
    shell(desk.0.path(), "echo more >> rootfs.tar.gz").expect(0);
    let trace = finding["trace"].as_str().unwrap();
    desk.explode(&format!("replay {trace}")).refused(&["has the hash", "this run needs"]);
}

/// These are refused before anything is built.
#[test]
fn a_wrong_rootfs_is_refused() {
    let desk = Desk::new();
    let refused = |guest: &str, words: &[&str]| {
        desk.write(&format!(
            "[guest]\n{guest}\n[[component]]\nuse = \"folder\"\n[checker]\nname = \"c\"\n\
             check = \"true\"\nmutate = [ {{ name = \"m\", steps = [ {{ crash = [] }} ] }} ]\n"
        ));
        desk.explode("run test.toml").refused(words);
    };
    refused("rootfs = \"none.tar\"", &["test.toml:2:1", "'none.tar' cannot be read", "No such"]);
    refused("rootfs = 3", &["'rootfs' is a text"]);
    shell(desk.0.path(), "echo > a.tar").expect(0);
    refused("rootfs = \"a.tar\"\npackages = [\"git\"]", &["'packages' or a 'rootfs'", "both"]);
    refused("rootfs = \"a.tar\"\nwithout = [\"git\"]", &["there are no 'packages'"]);
    refused("rootfs = \"a.tar\"", &["names packages or a 'rootfs'", "use --in vm"]);
}
