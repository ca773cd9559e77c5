//! Arrays of disks with bad sectors (EX-112, EXC-12), and other systems on arrays (EX-109), run as
//! a user does.

mod common;

use serde_json::Value;
use tempfile::tempdir;

use common::{explode_in, of_type};

fn run(args: &str, code: i32) -> Vec<Value> {
    let folder = tempdir().unwrap();
    let args = format!("run {args} --require-complete --format jsonl --out run");
    explode_in(folder.path(), args.split_whitespace()).expect(code).json()
}

fn counts<const N: usize>(lines: &[Value], keys: [&str; N]) -> [u64; N] {
    keys.map(|key| lines.last().unwrap()[key].as_u64().unwrap())
}

/// Returns the options by which each of `disks` disks may have unreadable blocks, `most` on a path.
fn faults(disks: u32, most: u32) -> String {
    let of =
        |disk: u32| format!("--set d{disk}.faults=unreadable --set d{disk}.most_faults={most} ");
    (0..disks).map(of).collect()
}

/// Returns the counts and findings of a run with `most` bad sectors on a path.
fn with_faults(target: &str, depth: u32, disks: u32, most: u32, code: i32) -> [u64; 5] {
    let lines = run(&format!("{target} --depth {depth} {}", faults(disks, most)), code);
    counts(&lines, ["states", "crash_disks", "distinct", "findings", "broken"])
}

#[test]
fn a_bad_sector_costs_a_mirror_nothing() {
    assert_eq!(with_faults("mirror", 3, 2, 1, 0), [809, 14_374, 15_492, 0, 0]);
}

/// Blocks at different places of two disks are repaired. Blocks that are bad at the same place on
/// both are lost, and reading them fails.
#[test]
fn two_bad_sectors_do_not_make_a_mirror_unusable() {
    assert_eq!(with_faults("mirror", 3, 2, 2, 0), [1337, 22_714, 22_722, 0, 0]);
}

/// The write hole: with a bitmap it shows as an unreadable block, never as false contents. A
/// journal closes it.
#[test]
fn a_journal_closes_the_write_hole() {
    let lines = run(&format!("parity --depth 2 {}", faults(3, 1)), 1);
    let found: Vec<&str> = of_type(&lines, "finding")
        .iter()
        .map(|finding| finding["signature"].as_str().unwrap())
        .collect();
    assert!(found.iter().all(|signature| *signature == "disk-blocks/lost/readable"), "{found:?}");
    assert_eq!(counts(&lines, ["states", "findings", "broken"]), [181, 1, 0]);
    assert_eq!(with_faults("parity-journal", 2, 3, 1, 0), [457, 10_737, 5796, 0, 0]);
}

/// The upper system reaches the same states on an array and on one disk.
#[test]
fn systems_on_arrays_are_as_on_one_disk() {
    for (on_array, on_disk, crash_disks) in [
        ("journal-kv-mirror", "journal-kv", [9686, 466]),
        ("toyfs-parity", "toyfs --crash-depth 0", [236, 134]),
    ] {
        let [there, here] = [on_array, on_disk].map(|args| run(&format!("{args} --depth 2"), 0));
        let driven = ["states", "operations", "choices", "findings", "broken"];
        assert_eq!(counts(&there, driven), counts(&here, driven), "{on_array}");
        assert_eq!(
            [there, here].map(|lines| counts(&lines, ["crash_disks"])[0]),
            crash_disks,
            "{on_array}"
        );
    }
}

/// A single disk cannot go on after a fault, but it must keep the data that it flushes.
#[test]
fn a_single_disk_must_keep_flushed_data() {
    let ran = |more: &str, code| {
        counts(
            &run(&format!("disk-blocks --stack ramdisk --depth 2 {more}"), code),
            ["findings", "broken"],
        )
    };
    assert_eq!(ran("", 0), [0, 0]);
    assert_eq!(ran("--set ramdisk.faults=unreadable", 0), [0, 0]);
    assert_eq!(ran("--set ramdisk.flushes=dropped", 1), [1, 0]);
}

/// An array in a stack file, on disks of different sizes. It is as large as the smallest.
#[test]
fn an_array_in_a_stack_file() {
    let folder = tempdir().unwrap();
    let text = r#"
        [[component]]
        name = "small"
        use = "ramdisk"
        sectors = 64
        [[component]]
        name = "large"
        use = "ramdisk"
        sectors = 128
        [[component]]
        use = "mirror"
        children = ["large", "small"]
        [checker]
        use = "disk-blocks"
        blocks = 7
    "#;
    std::fs::write(folder.path().join("array.toml"), text).unwrap();
    let run = |more: &[&str], code| {
        let args = ["run", "array.toml", "--format", "jsonl"].iter().chain(more);
        explode_in(folder.path(), args).expect(code)
    };
    let lines = run(&["--depth", "1", "--require-complete"], 0).json();
    assert_eq!(counts(&lines, ["states", "findings", "broken"]), [19, 0, 0]);
    std::fs::write(folder.path().join("array.toml"), text.replace("blocks = 7", "blocks = 8"))
        .unwrap();
    let ran = run(&["--depth", "1"], 4);
    assert!((ran.out + &ran.err).contains("8 blocks do not fit; the disk has 56 sectors"));
}
