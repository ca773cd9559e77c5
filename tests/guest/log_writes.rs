//! The kernel's own dm-log-writes target. The guest writes through it on RAM disks, and
//! `explode crash-disks` on the host reads the log, with exact counts. The last of its disks must
//! equal the final contents of the device.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use explode_kernel::UnrecordedDisk;
use explode_ramdisk::{Image, Recording};
use explode_runtime::devices::{Backend, HostId, NOW, Side};
use libc::{O_DIRECT, O_DSYNC};
use serde_json::{Value, json};

use crate::common::log::crash_disks_of;
use crate::common::logwrites::{self, replay};
use crate::common::{file, of_type};
use crate::report::{Line, Report};

/// The path of the target's device.
const NODE: &str = "/dev/mapper/logged";
/// The UUID of the file system.
const UUID: &str = "6c1f2a3e-1111-4222-8333-444455556666";
/// The sizes of the device and the log, in sectors.
const SECTORS: [u64; 2] = [512, 1024];

/// A page, aligned for direct requests.
#[repr(align(4096))]
struct Page([u8; 4096]);

/// Runs two workloads in the guest, each on a fresh device.
pub fn logs(backend: &dyn Backend, report: &mut Report) {
    report.case("dm-log-writes: blocks, a flush, a FUA", |report| {
        logged(backend, report, "blocks", blocks)
    });
    report.case("dm-log-writes: ext2", |report| logged(backend, report, "ext2", ext2));
}

fn logged(backend: &dyn Backend, report: &mut Report, name: &str, workload: fn()) {
    let [device, log] =
        SECTORS.map(|sectors| UnrecordedDisk::create(sectors).expect("there is room"));
    let paths = [&device, &log].map(|disk| disk.path().display());
    let table = format!("0 {} log-writes {} {}", SECTORS[0], paths[0], paths[1]);
    dmsetup(&["create", "logged", "--table", &table]);
    // The device gets the settings of every guest device, so that only the workload decides about
    // its writes and their times.
    backend.settle(&[]).expect("root may");
    // While these devices exist, the kernel's random numbers (such as an inode's generation) come
    // from their seed.
    let _seeded = backend.disks(HostId::default(), Side::Live, Image::new(), Recording::Off, 0);
    workload();
    catch_up(&log);
    dmsetup(&["remove", "logged"]);
    report.say(&Line::Logged(
        name.to_owned(),
        contents(&log, SECTORS[1]),
        contents(&device, SECTORS[0]),
    ));
}

/// Waits until the target's thread has written everything: writes a mark after it and waits for
/// that. Otherwise, when the target is removed, unflushed entries get into the log before entries
/// that still wait to be written (log_writes_dtr splices them to the head). That log would not lead
/// to the contents of the device.
fn catch_up(log: &UnrecordedDisk) {
    const END: &str = "all-is-written";
    mark(END);
    let is_mark = |sector: &[u8]| {
        sector[16..24] == logwrites::MARK.to_le_bytes() && sector[32..].starts_with(END.as_bytes())
    };
    while !contents(log, SECTORS[1]).chunks(512).any(is_mark) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Writes two blocks and flushes. Then writes one again, one with FUA and a flush after it, and one
/// more without a flush.
fn blocks() {
    let open = |flags| {
        OpenOptions::new()
            .write(true)
            .custom_flags(O_DIRECT | flags)
            .open(NODE)
            .expect("it is there")
    };
    let write = |flags, block: u64, letter: u8| {
        open(flags).write_all_at(&Page([letter; 4096]).0, block * 4096).expect("there is room");
    };
    write(0, 0, b'A');
    write(0, 1, b'B');
    open(0).sync_all().expect("it can be flushed");
    mark("flushed");
    write(0, 0, b'C');
    write(O_DSYNC, 2, b'D');
    write(0, 3, b'E');
}

/// Makes a file system with a synced file and one that is not synced, and unmounts it.
fn ext2() {
    run(
        "mke2fs",
        &["-q", "-t", "ext2", "-b", "1024", "-U", UUID, "-E", &format!("hash_seed={UUID}"), NODE],
    );
    mark("mkfs");
    let place = tempfile::tempdir().expect("a folder in memory");
    let path = place.path().to_str().expect("a plain path");
    run("mount", &["-t", "ext2", NODE, path]);
    let write = |name: &str| {
        let file = File::create(place.path().join(name)).expect("there is room");
        file.write_all_at(&[b'x'; 3000], 0).expect("there is room");
        file
    };
    write("synced").sync_all().expect("it is written");
    mark("synced");
    write("other");
    run("umount", &[path]);
}

fn mark(name: &str) {
    dmsetup(&["message", "logged", "0", "mark", name]);
}

fn dmsetup(args: &[&str]) {
    run("dmsetup", args);
}

fn run(program: &str, args: &[&str]) {
    let mut command = Command::new(program);
    // Without udev, dmsetup must make its nodes itself. The time is that of the file system's
    // clock.
    command.args(args).env("DM_DISABLE_UDEV", "1").env("E2FSPROGS_FAKE_TIME", NOW.to_string());
    let ran = command.output().expect("the image has it");
    assert!(ran.status.success(), "{program} {args:?}: {ran:?}");
}

/// Returns the contents of a disk, past every cache.
fn contents(disk: &UnrecordedDisk, sectors: u64) -> Vec<u8> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECT)
        .open(disk.path())
        .expect("it is there");
    let mut page = Page([0; 4096]);
    let mut read = |block: u64| {
        file.read_exact_at(&mut page.0, block * 4096).expect("it can be read");
        page.0
    };
    (0..sectors / 8).flat_map(&mut read).collect()
}

/// Checks a log on the host.
pub fn check(name: &str, log: &[u8], device: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut replayed = vec![0; device.len()];
    let end = replay(log, &mut replayed);
    assert!(replayed == device, "the log leads to the device, by another reader");
    assert!(log[end..].iter().all(|byte| *byte == 0), "the rest of its disk is empty");
    let path = file(folder.path(), "log", log);
    match name {
        "blocks" => of_blocks(&path, device),
        _ => of_ext2(&path, device),
    }
}

/// A and B: 4 disks. D over both of them: 2, one of them new. O_DSYNC flushes after its write, so
/// C: 2, one new. E: the same as C.
fn of_blocks(log: &Path, device: &[u8]) {
    let lines = disks(log, device, "");
    assert_eq!(lines.last().expect("a summary"), &summary(10, 7));
    let from = disks(log, device, "--from flushed");
    assert_eq!(from.last().expect("a summary"), &summary(6, 4));
    let last = &lines[lines.len() - 2];
    assert_eq!(last["blocks"], json!([[0, 24, 1]]));
}

/// The writes of mke2fs are between two flushes and are sampled. The rest is not.
fn of_ext2(log: &Path, device: &[u8]) {
    let lines = disks(log, device, "--limit 1000 --samples 20");
    let whole = lines.last().expect("a summary");
    assert_eq!(whole["crash_disks"], "3361919107433565782850");
    assert_eq!(disks(log, device, "--from mkfs --to synced").last(), Some(&summary(65, 32)));
    assert_eq!(disks(log, device, "--from synced").last(), Some(&summary(768, 384)));
}

fn summary(crash_disks: u64, distinct: u64) -> Value {
    json!({"type": "summary", "crash_disks": crash_disks, "distinct": distinct, "left_out": 0})
}

/// Returns the lines of `explode crash-disks`. The last disk must equal the contents of the device.
fn disks(log: &Path, device: &[u8], args: &str) -> Vec<Value> {
    let out = log.with_file_name("disks");
    std::fs::remove_dir_all(&out).ok();
    let args = format!("--size {} --write {} {args}", device.len(), out.display());
    let lines = crash_disks_of(log, &args).expect(0).json();
    let last = of_type(&lines, "disk").pop().expect("there is one")["id"].clone();
    let image = out.join(format!("{}.0.img", last.as_str().expect("a text")));
    if !args.contains("--to") {
        assert!(
            std::fs::read(image).expect("it was written") == device,
            "the last disk is the device"
        );
    }
    lines
}
