//! The golden logs through the command line: exact disks, epochs and images.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::log::{crash_disks_of, draw};
use crate::common::{files, keys, of_type, words};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("explode-runtime/tests/golden").join(name)
}

#[test]
fn every_golden_log_leaves_exactly_its_disks() {
    let expected = std::fs::read_to_string(golden("expected.jsonl")).unwrap();
    assert_eq!(expected.lines().count(), 46);
    for line in expected.lines() {
        check(&serde_json::from_str(line).unwrap());
    }
}

fn check(expected: &Value) {
    let text = |key: &str| expected[key].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("images");
    let case = format!("{}, {}, {}", text("case"), text("completion"), text("atom"));
    let mut args = format!(
        "--size {} --completion {} --atom {} --write {}",
        expected["size"],
        text("completion"),
        text("atom"),
        images.display()
    );
    for mark in ["from", "to"] {
        if let Some(name) = expected[mark].as_str() {
            args += &format!(" --{mark} {name}");
        }
    }
    let lines = crash_disks_of(&golden(&format!("{}.jsonl", text("case"))), &args).expect(0).json();

    let wanted: BTreeMap<String, Value> =
        serde_json::from_value(expected["disks"].clone()).unwrap();
    let devices = wanted.keys().next().unwrap().split('|').count();
    let disks = of_type(&lines, "disk");
    let found: BTreeMap<String, Value> = disks
        .iter()
        .map(|disk| (drawing(&images, disk, devices), disk["epochs"].clone()))
        .collect();
    assert_eq!(found, wanted, "{case}");

    let ids: BTreeSet<&str> = disks.iter().map(|disk| id(disk)).collect();
    assert_eq!(ids.len(), disks.len(), "{case}: ids are unique");
    for disk in &disks {
        assert_eq!(keys(disk), words("type id epochs blocks"));
        assert!(id(disk).len() == 32 && id(disk).bytes().all(|c| c.is_ascii_hexdigit()), "{disk}");
        let is_empty = drawing(&images, disk, devices).chars().all(|sector| "|.".contains(sector));
        assert_eq!(is_empty, id(disk) == "0".repeat(32), "{case}: {disk}");
    }
    assert_eq!(files(&images).len(), disks.len() * devices, "{case}: an image a disk and device");

    let summary = lines.last().unwrap();
    assert_eq!(keys(summary), words("type crash_disks distinct left_out"));
    assert_eq!((&summary["type"], &summary["left_out"]), (&json!("summary"), &json!(0)));
    assert_eq!(summary["distinct"], json!(wanted.len()), "{case}");
    assert!(summary["crash_disks"].as_u64().unwrap() >= wanted.len() as u64, "{case}");
    assert_eq!(lines.len(), disks.len() + 1, "{case}: disks, then the summary");
}

fn id(disk: &Value) -> &str {
    disk["id"].as_str().unwrap()
}

/// Returns the drawing of all devices of a disk, in the form of the expectations.
fn drawing(images: &Path, disk: &Value, devices: usize) -> String {
    let image = |dev| std::fs::read(images.join(format!("{}.{dev}.img", id(disk)))).unwrap();
    (0..devices).map(|dev| draw(&image(dev))).collect::<Vec<_>>().join("|")
}
