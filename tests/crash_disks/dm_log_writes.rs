//! Logs in the format of dm-log-writes, read and written.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::log::{
    complete, crash_disks, crash_disks_of, dirty, full, mark, submit, submit_with,
};
use crate::common::logwrites::{FLUSH, FUA, LogWrites, replay};
use crate::common::{Ran, file, files, of_type};

fn of_log_writes(folder: &Path, log: &LogWrites, args: &str) -> Ran {
    crash_disks_of(&file(folder, "writes.log", log.finish()), args)
}

/// A log with every kind of entry, and the equivalent JSON log. One unit is a sector of the log.
fn both(sector_bytes: usize) -> (LogWrites, Vec<Value>) {
    let unit = sector_bytes / 512;
    let data = |letter| full(unit, letter);
    let at = |units: usize| (units * unit) as u64;
    let log = LogWrites::new(sector_bytes)
        .write(0, 0, &data('A'))
        .mark("mkfs")
        .write(1, FUA, &data('B'))
        .write(0, FLUSH, &[])
        .write(2, 0, &[data('C'), data('D')].concat())
        .discard(0, 2)
        .write(4, FLUSH | FUA, &data('E'))
        .mark("end")
        .write(5, 0, &data('F'));
    let discard = json!({"e": "submit", "id": 5, "dev": 0, "sector": 0, "len": 2 * sector_bytes,
        "op": "discard"});
    let mut two = submit(4, 0, at(2), 2 * unit, 'C');
    two["data"] = json!(crate::common::log::base64(&[data('C'), data('D')].concat()));
    let json = vec![
        submit(1, 0, 0, unit, 'A'),
        complete(1),
        mark("mkfs"),
        submit_with(&["fua"], 2, 0, at(1), unit, 'B'),
        complete(2),
        submit_with(&["preflush"], 3, 0, 0, 0, '.'),
        complete(3),
        two,
        complete(4),
        discard,
        complete(5),
        submit_with(&["preflush", "fua"], 6, 0, at(4), unit, 'E'),
        complete(6),
        mark("end"),
        submit(7, 0, at(5), unit, 'F'),
        complete(7),
    ];
    (log, json)
}

#[test]
fn a_log_is_the_json_log_that_it_stands_for() {
    let folder = tempdir().unwrap();
    for sector_bytes in [512, 4096] {
        let (log, json) = both(sector_bytes);
        for args in [
            "",
            "--atom sector",
            "--completion durable",
            "--from mkfs",
            "--to end",
            "--from mkfs --to end",
        ] {
            let args = format!("--size 65536 {args}");
            let found = of_log_writes(folder.path(), &log, &args).expect(0);
            assert_eq!(
                found.out,
                crash_disks(folder.path(), &json, &args).expect(0).out,
                "{sector_bytes}, {args}"
            );
            assert!(found.json().len() > 3, "there are disks: {found:?}");
        }
    }
}

/// Exact counts of a log without an equivalent in JSON: a write without a flush, then one with a
/// flush.
#[test]
fn an_entry_is_a_submit_and_its_complete() {
    let folder = tempdir().unwrap();
    let log = LogWrites::new(512).write(0, 0, &full(1, 'A')).write(8, 0, &full(1, 'B')).write(
        0,
        FLUSH,
        &[],
    );
    let lines = of_log_writes(folder.path(), &log, "--size 8192").expect(0).json();
    let epochs: Vec<String> =
        of_type(&lines, "disk").iter().map(|disk| disk["epochs"].to_string()).collect();
    assert_eq!(epochs[0], r#"["begin","in-between"]"#);
    // Four disks before the flush is complete, one after it.
    assert_eq!(
        lines.last().unwrap(),
        &json!({"type": "summary", "crash_disks": 5, "distinct": 4, "left_out": 0})
    );
    assert_eq!(epochs.iter().filter(|epochs| epochs.contains(r#""end""#)).count(), 1);
}

#[test]
fn a_written_log_turns_the_base_into_the_image() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let bases = ['P', 'Q'].map(|letter| [full(4, letter), full(20, '.')].concat());
    for (dev, base) in bases.iter().enumerate() {
        file(folder.path(), &format!("base.{dev}"), base);
    }
    let zeroes =
        json!({"e": "submit", "id": 1, "dev": 0, "sector": 0, "len": 1024, "op": "zeroes"});
    let log = [zeroes, dirty(0, 3, 2, 'A'), dirty(1, 16, 8, 'B'), dirty(1, 0, 1, 'C'), complete(1)];
    let (base0, base1) = (path("base.0"), path("base.1"));
    let base = format!("--size 12288 --base {} {}", base0.display(), base1.display());
    for form in ["img", "logwrites"] {
        let args = format!("{base} --write {} --write-as {form}", path(form).display());
        crash_disks(folder.path(), &log, &args).expect(0);
    }
    let logs = files(&path("logwrites"));
    // Sectors 3 and 4 are in one block. There are three pieces with one version each, and the
    // zeroes: 16 disks of two devices.
    assert_eq!((logs.len(), files(&path("img")).len()), (32, 32));
    for name in logs {
        let (id, dev) = name.strip_suffix(".log").unwrap().split_once('.').unwrap();
        let image = std::fs::read(path("img").join(format!("{id}.{dev}.img"))).unwrap();
        let written = path("logwrites").join(&name);
        let mut replayed = bases[dev.parse::<usize>().unwrap()].clone();
        let log = std::fs::read(&written).unwrap();
        assert_eq!(replay(&log, &mut replayed), log.len(), "nothing is behind its last entry");
        assert!(replayed == image, "{name}");

        // explode reads the log that it has written: after the last entry there is one disk, the
        // image.
        let out = path("again").join(&name);
        let base = path(&format!("base.{dev}"));
        let args = format!(
            "--size 12288 --limit 1 --samples 2 --base {} --write {}",
            base.display(),
            out.display()
        );
        let lines = crash_disks_of(&written, &args).expect(0).json();
        let end: Vec<&Value> = of_type(&lines, "disk")
            .into_iter()
            .filter(|disk| disk["epochs"].as_array().unwrap().contains(&json!("end")))
            .collect();
        assert_eq!(end.len(), 1, "{name}");
        let end = out.join(format!("{}.0.img", end[0]["id"].as_str().unwrap()));
        assert!(std::fs::read(end).unwrap() == image, "{name}");
    }
}
