//! Images before the log, block sizes, intervals, and the human format.

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::log::{complete, crash_disks, dirty, draw, full, lines, mark, submit};
use crate::common::{explode, file, files, of_type};

fn crash_disk_count(events: &[Value], args: &str) -> Value {
    let lines = crash_disks(tempdir().unwrap().path(), events, args).expect(0).json();
    lines.last().unwrap()["crash_disks"].clone()
}

#[test]
fn a_base_is_what_the_devices_hold_and_the_others_hold_zeroes() {
    let folder = tempdir().unwrap();
    let images = folder.path().join("images");
    let base = file(folder.path(), "base.img", [full(2, 'P'), full(6, '.')].concat());
    let log = [submit(1, 0, 1, 1, 'A'), submit(2, 2, 0, 1, 'B'), complete(1), complete(2)];
    let args = format!("--size 4096 --base {} --write {}", base.display(), images.display());
    let found = crash_disks(folder.path(), &log, &args).expect(0).json();
    let mut drawings: Vec<String> = of_type(&found, "disk")
        .iter()
        .map(|disk| {
            let image = |dev| {
                std::fs::read(images.join(format!("{}.{dev}.img", disk["id"].as_str().unwrap())))
            };
            (0..3).map(|dev| draw(&image(dev).unwrap())).collect::<Vec<_>>().join("|")
        })
        .collect();
    drawings.sort();
    let pieces = [("PA", "B."), ("PA", ".."), ("PP", ".."), ("PP", "B.")];
    let mut expected = pieces.map(|(a, b)| format!("{a}......|........|{b}......"));
    expected.sort();
    assert_eq!(drawings, expected);
    assert_eq!(files(&images).len(), 4 * 3);
}

#[test]
fn additional_bases_are_additional_devices() {
    let folder = tempdir().unwrap();
    let images = folder.path().join("images");
    let base = file(folder.path(), "p.img", full(1, 'P'));
    let (base, images_arg) = (base.display(), images.display());
    let args = format!("--size 512 --base {base} {base} --write {images_arg}");
    let found = crash_disks(folder.path(), &[], &args).expect(0).json();
    let id = found[0]["id"].as_str().unwrap();
    assert_eq!(files(&images), [format!("{id}.0.img"), format!("{id}.1.img")]);
    assert_ne!(id, "0".repeat(32));
}

#[test]
fn blocks_are_cut_at_their_multiples() {
    let one = [dirty(0, 0, 8, 'A')];
    for (args, disks) in
        [("", 2u32), ("--block 1024", 16), ("--block 512", 256), ("--atom sector", 256)]
    {
        assert_eq!(crash_disk_count(&one, &format!("--size 16384 {args}")), json!(disks), "{args}");
    }
    // The write begins in the middle of a block: two pieces, or one as a request.
    let across = [submit(1, 0, 4, 8, 'A')];
    for (args, disks) in
        [("", 4u32), ("--block 8192", 2), ("--atom request", 2), ("--block 1024", 16)]
    {
        assert_eq!(
            crash_disk_count(&across, &format!("--size 16384 {args}")),
            json!(disks),
            "{args}"
        );
    }
}

#[test]
fn from_is_the_first_mark_of_its_name_and_to_the_first_after_it() {
    let letters = ['A', 'B', 'C', 'D'];
    let dirty = |block: usize| dirty(0, block as u64 * 8, 1, letters[block]);
    let log = [
        mark("b"),
        dirty(0),
        mark("a"),
        dirty(1),
        mark("b"),
        dirty(2),
        mark("a"),
        dirty(3),
        mark("b"),
    ];
    let epochs = |args: &str| {
        let lines = crash_disks(tempdir().unwrap().path(), &log, &format!("--size 16384 {args}"))
            .expect(0)
            .json();
        let count = |epoch: &str| {
            of_type(&lines, "disk")
                .iter()
                .filter(|disk| disk["epochs"].as_array().unwrap().contains(&json!(epoch)))
                .count()
        };
        ["begin", "in-between", "end"].map(count)
    };
    assert_eq!(epochs(""), [1, 8, 16]);
    assert_eq!(epochs("--from a"), [2, 8, 16]);
    assert_eq!(epochs("--to a"), [1, 0, 2]);
    assert_eq!(epochs("--from a --to b"), [2, 0, 4]);
    assert_eq!(epochs("--from a --to a"), [2, 4, 8]);
    assert_eq!(epochs("--from b --to b"), [1, 2, 4]);
}

#[test]
fn text_output_has_a_line_per_disk_and_a_summary() {
    let folder = tempdir().unwrap();
    let log = file(
        folder.path(),
        "log.jsonl",
        lines(&[dirty(0, 0, 1, 'A'), dirty(1, 8, 1, 'B'), dirty(0, 0, 1, 'C')]),
    );
    let ran = explode(["crash-disks", log.to_str().unwrap(), "--size", "8192"]).expect(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0].trim_end(), format!("{}  begin,in-between,end", "0".repeat(32)));
    assert!(
        lines.iter().any(|line| line.ends_with("  end                   0:0v2 1:8v1")),
        "{lines:?}"
    );
    assert_eq!(lines[6], "6 crash disks, 6 distinct, 0 left out");
}

/// The log comes as from a shell's `<(zcat log.gz)`.
#[test]
fn a_log_can_come_through_a_pipe() {
    let folder = tempdir().unwrap();
    file(folder.path(), "log.jsonl", lines(&[dirty(0, 0, 1, 'A')]));
    let command = "cat log.jsonl | explode crash-disks /dev/stdin --size 4096";
    let ran = crate::common::shell(folder.path(), command).expect(0);
    assert!(ran.out.ends_with("2 crash disks, 2 distinct, 0 left out\n"), "{ran:#?}");
}
